# SPDX-License-Identifier: BSD-3-Clause
#
# gen_api_test.awk: data/openshmem_api.txt -> a C (and C++) program that takes the address of each C name and of its
# profiling name through a pointer of exactly the listed type.  A wrong prototype does not compile, a missing name does
# not link.  The program prints how many names it holds.

BEGIN {
    FS = " [|] "
    print "/* made by gen_api_test.awk; do not edit */"
    print "#include <stdio.h>"
    print "#include <pshmem.h>"
    print "#include <shmemx.h>"
    print ""
}

/^C / {
    name = $2
    proto = $5
    pos = index(proto, name "(")
    if (pos == 0) {
        print "gen_api_test.awk: line " NR ": " name " is not in its prototype" > "/dev/stderr"
        exit 1
    }
    head = substr(proto, 1, pos - 1)
    tail = substr(proto, pos + length(name))
    n++
    names[n] = name
    print "static " head "(*const at_" n ")" tail " = " name ";"
    print "static " head "(*const pat_" n ")" tail " = p" name ";"
}

END {
    print ""
    print "struct entry {"
    print "    const char *name;"
    print "    void (*addr)(void);"
    print "};"
    print "static const struct entry entries[] = {"
    for (i = 1; i <= n; i++) {
        print "    {\"" names[i] "\", (void (*)(void))at_" i "},"
        print "    {\"p" names[i] "\", (void (*)(void))pat_" i "},"
    }
    print "};"
    print ""
    print "int main(void)"
    print "{"
    print "    size_t n = sizeof(entries) / sizeof(entries[0]), missing = 0;"
    print "    for (size_t i = 0; i < n; i++)"
    print "        if (!entries[i].addr) {"
    print "            printf(\"no address: %s\\n\", entries[i].name);"
    print "            missing++;"
    print "        }"
    print "    printf(\"%zu names with the types of the specification\\n\", n - missing);"
    print "    return missing || n != 2 * 1788;"
    print "}"
}
