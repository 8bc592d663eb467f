# SPDX-License-Identifier: BSD-3-Clause
# From the list of public names (data/gasnet_api.txt): a C program that takes the address of every function of GASNet-1,
# with 0 to 16 arguments where the name ends in M, and needs every constant to be defined. Part 3 of the list (gex_*) is
# another interface.
BEGIN {
	# names of the other interface, and of another conduit, that stand among the constants
	n = split("GASNET_CONDUIT_SMP GASNET_HAVE_MK_CLASS_HOST GASNET_NATIVE_NP_ALLOC_REP_MEDIUM " \
		  "GASNET_NATIVE_NP_ALLOC_REQ_MEDIUM GASNET_SUPPORTS_AM_CANCEL GASNET_SUPPORTS_AM_COMMIT_V2 " \
		  "GASNET_SUPPORTS_TI_ENTRY GASNET_SUPPORTS_TI_EP GASNET_SUPPORTS_TI_IS_LONG " \
		  "GASNET_SUPPORTS_TI_IS_REQ GASNET_SUPPORTS_TI_SRCRANK", skip, " ")
	for (i = 1; i <= n; i++)
		other[skip[i]] = 1
	print "/* made by gen_api_test.awk */\n#include <gasnet.h>\n#include <gasnet_tools.h>\n#include <stdio.h>"
}
/^# part 1/ { part = 1; next }
/^# part 2/ { part = 2; next }
/^# part 3/ { part = 3; next }
/^#/ || !NF { next }
part == 1 {
	name = $1
	if (name == "gasnet_AMMaxMediumM") # the list's M is the first letter of no number here
		name = "gasnet_AMMaxMedium"
	if (name ~ /(Short|Medium|Long|LongAsync)M$/) {
		for (i = 0; i <= 16; i++)
			functions[++count] = substr(name, 1, length(name) - 1) i
	} else {
		functions[++count] = name
	}
}
part == 2 && !($1 in other) {
	constants++
	printf "#ifndef %s\n#error %s is not defined\n#endif\n", $1, $1
}
END {
	print "typedef void (*any)(void);\nstatic const struct { const char *name; any fn; } functions[] = {"
	for (i = 1; i <= count; i++)
		printf "\t{\"%s\", (any)%s},\n", functions[i], functions[i]
	print "};\nint main(void)\n{\n\tunsigned missing = 0;"
	print "\tfor (unsigned i = 0; i < sizeof functions / sizeof *functions; i++)\n\t\tmissing += !functions[i].fn;"
	printf "\tprintf(\"%%u functions, %d constants\\n\",\n", constants
	print "\t       (unsigned)(sizeof functions / sizeof *functions));"
	printf "\treturn missing || sizeof functions / sizeof *functions != 207;\n}\n"
}
