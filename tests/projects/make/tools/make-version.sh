#!/bin/sh
# Writes the source of the version text; its line numbers are part of the expectations.
cat << 'SOURCE'
#include <stdlib.h>
#include <string.h>

const char *version(void) {
    char *text = malloc(10);
    return strcpy(text, "notes 1.0");
}
SOURCE
