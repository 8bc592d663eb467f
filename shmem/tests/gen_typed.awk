# SPDX-License-Identifier: BSD-3-Clause
#
# gen_typed.awk: data/openshmem_api.txt -> typed_each.inc, which includes TYPED_BODY for every type of the specification
# and SIZED_BODY for every size in bits, so that a body is plain C and a line of it that fails has a number.
#
# A body sees: NAME and T, the type; IN_RMA, IN_EXT, IN_STD, IN_BIT, IN_WAIT, IN_SETS, IN_SUM, IN_CMP, IN_LOGIC,
# IN_DATA, 1 when the type has that family of calls and 0 otherwise; SIZE, the bits. Each body comes in two forms, FORM
# first and second (FIRST 1 and 0); what these are is up to the program: typed.h.

function family(call, name) { kind[name] = kind[name] " " call; if (!seen[name]++) order[++count] = name }

# the type that a call of this signature is about: what its dest or ivar points to
function type_of(signature,    t) {
    t = signature
    if (!match(t, /[(,] *(const )?[A-Za-z0-9_ ]+ \*(dest|ivars?)[,) ]/))
        return ""
    t = substr(t, RSTART + 1, RLENGTH - 1)
    sub(/ \*(dest|ivars?)[,) ]$/, "", t)
    sub(/^ *(const )?/, "", t)
    return t
}

function both(body) {
    print "#define FORM first\n#define FIRST 1\n#include " body "\n#undef FORM\n#undef FIRST"
    print "#define FORM second\n#define FIRST 0\n#include " body "\n#undef FORM\n#undef FIRST"
}

BEGIN {
    FS = " [|] "
    split("RMA p EXT atomic_set STD atomic_add BIT atomic_and WAIT wait_until SETS wait_until_all " \
          "SUM sum_reduce CMP min_reduce LOGIC and_reduce DATA broadcast", words, " ")
    for (i = 1; i in words; i += 2) {
        families[++familycount] = words[i]
        call_of[words[i]] = words[i + 1]
    }
}

$1 == "C" {
    if (match($2, /^shmem_put[0-9]+$/))
        size[++sizes] = substr($2, 10)
    for (i = 1; i <= familycount; i++) {
        name = $2
        if (sub("_" call_of[families[i]] "$", "", name) && sub(/^shmem_/, "", name) &&
            name !~ /^(ctx_.*|team_.*|signal)$/) {
            t = type_of($5)
            if (name == "complexd" || name == "complexf")
                t = "shmem_impl_" name "_t" # C++ has another name for it
            if (t == "" || (name in type && type[name] != t)) {
                print "gen_typed.awk: which type is that of " $2 "?" > "/dev/stderr"
                exit failed = 1
            }
            type[name] = t
            family(families[i], name)
        }
    }
}

END {
    if (failed || count < 24 || sizes < 5) {
        print "gen_typed.awk: " count + 0 " types and " sizes + 0 " sizes found" > "/dev/stderr"
        exit 1
    }
    print "/* made by gen_typed.awk */\n#ifdef TYPED_BODY"
    for (i = 1; i <= count; i++) {
        name = order[i]
        print "#define NAME " name "\n#define T " type[name]
        for (k = 1; k <= familycount; k++)
            print "#define IN_" families[k] " " ((kind[name] " ") ~ (" " families[k] " ") ? 1 : 0)
        both("TYPED_BODY")
        for (k = 1; k <= familycount; k++)
            print "#undef IN_" families[k]
        print "#undef NAME\n#undef T"
    }
    print "#endif\n#ifdef SIZED_BODY"
    for (i = 1; i <= sizes; i++) {
        print "#define SIZE " size[i]
        both("SIZED_BODY")
        print "#undef SIZE"
    }
    print "#endif"
}
