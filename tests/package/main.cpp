#include "dynaflow/dynaflow.h"

int main() { return 0; }
