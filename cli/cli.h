/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs share: how one is described, what a call of it holds, how it is parsed and answered.
 *
 * A verb is a cli_verb: name, texts, the option tables with the sizes of their structs, and a function. The tables of a
 * verb are joined into one, over one block of memory that holds the structs, so that flags, files, environment, help, man
 * page and completion see a single table.
 */
#ifndef GNNTRAIN_CLI_CLI_H
#define GNNTRAIN_CLI_CLI_H

#include <gnntrain/experimental.h>
#include <gnntrain/log.h>

#include <stdbool.h>

enum { CLI_MAX_SECTIONS = 5, CLI_MAX_ROWS = 160, CLI_BLOCK_BYTES = 4096, CLI_MAX_EXAMPLES = 3 };

typedef struct cli_call cli_call;

typedef struct cli_section {
    const gnt_option *(*table)(void);
    size_t size; /* of the struct that the table fills */
} cli_section;

typedef struct cli_verb {
    const char *name, *summary;
    const char *arguments; /* "FILE -o OUT" */
    const char *details;   /* a paragraph for --help and the man page, or NULL */
    const char *examples[CLI_MAX_EXAMPLES];
    int min_arguments, max_arguments; /* max < 0: any number */
    cli_section sections[CLI_MAX_SECTIONS];
    bool header; /* of its dataset alone is read */
    bool ranks;  /* processes of mpirun or srun are ranks of one call; else they are refused */
    gnt_status (*run)(cli_call *call);
} cli_verb;

/* Options that every verb has. */
typedef struct cli_common {
    bool help, json, quiet, print_config;
    char *config, *log;
} cli_common;

struct cli_call {
    const cli_verb *verb;
    gnt_option table[CLI_MAX_ROWS + 1]; /* the sections, joined */
    gntx_origin origin[CLI_MAX_ROWS + 1];
    size_t starts[CLI_MAX_SECTIONS];
    cli_common common;
    char **arguments; /* what is not an option */
    int num_arguments;
    bool no_arguments_at_all;
    _Alignas(16) unsigned char block[CLI_BLOCK_BYTES];
};

/* All verbs, in the order of the help; verbs.c. */
extern const cli_verb *const cli_verbs[];
extern const int cli_num_verbs;

/* ---- find_verb.c: names of one word or two ---- */
const cli_verb *cli_find_verb(const char *name); /* NULL when there is no such verb */
bool cli_is_group(const char *word);             /* the first word of names of two */
bool cli_is_of_group(const cli_verb *verb, const char *group);
/* The name with another letter between its words. */
void cli_verb_key(const cli_verb *verb, char between, char *out, size_t out_bytes);
/* The verb that the first words name, and how many they are; NULL and 1 for a group alone. ERR_USAGE offers the nearest. */
gnt_status cli_match_verb(int num_words, char **words, const cli_verb **verb, int *num_taken);

/* ---- options.c ---- */
const gnt_option *cli_common_table(void);
/* Joins the tables (for help too) and sets the defaults; cli_call_free releases the texts. */
gnt_status cli_call_begin(cli_call *call, const cli_verb *verb);
void cli_call_free(cli_call *call);
/* Default < user file < --config < environment < flag. ERR_USAGE names what is wrong and the nearest name. */
gnt_status cli_call_parse(cli_call *call, int argc, char **argv);
/* The struct of section i. */
void *cli_options_of(cli_call *call, int section);
/* True when an option of that name was set by anything but its default. */
bool cli_is_set(const cli_call *call, const char *name);
bool cli_is_end(const gnt_option *row); /* the last row; a heading is none */
/* GNNTRAIN_LOG and others that are no option of a verb; an entry of the environment, "NAME=value". */
bool cli_is_library_variable(const char *entry);
/* Effective options as YAML with their origins; to be freed with gntx_free. */
gnt_status cli_config_text(const cli_call *call, char **out);

/* ---- help.c, man.c, completion.c: all from the same tables ---- */
void cli_print_overview(void);
void cli_print_help(const cli_verb *verb);
void cli_print_group_help(const char *group);
void cli_print_man(void);
void cli_print_completion(void);
void cli_print_version(void); /* version.c */
/* "20", "on", "run" or "" : the default of a row as help writes it. */
void cli_default_text(const gnt_option *row, char out[64]);
const char *cli_value_name(const gnt_option *row); /* "N", "TEXT", "WORD", "" for a switch */

/* ---- output.c: facts on stdout, words on stderr ---- */
void cli_set_call(const cli_call *call);                /* whose --quiet and --json hold */
void cli_set_silent(bool silent);                       /* a rank that leaves talking to the first one */
void cli_say(const char *format, ...) GNT_PRINTF(1, 2); /* not with --quiet */
void cli_warn(const char *format, ...) GNT_PRINTF(1, 2);
/* The newest error of the library, with what helps to go on; answers the exit code. */
int cli_report_error(gnt_status st);
/* A JSON object with --json, else the same as text: one "name  value" line a member. */
gnt_status cli_print_facts(const gntx_json *facts);
/* Line ends of stdout are written: ERR_OUTPUT or ERR_DISK_FULL when it cannot take them. */
gnt_status cli_flush(void);
bool cli_use_color(void);
bool cli_is_terminal(void); /* stderr */

/* ---- exit_code.c ---- */
enum { CLI_EXIT_USAGE = 2, CLI_EXIT_SECOND_SIGNAL = 130 };
int cli_exit_code(gnt_status st);

/* ---- machine.c: the context that most verbs need ---- */
typedef struct cli_machine {
    char *devices, *plugin;
    int64_t threads;
    int32_t isa;
} cli_machine;
const gnt_option *cli_machine_table(void);
/* The same with --devices, for verbs that run on one; the trainer has a --devices of its own. */
const gnt_option *cli_device_table(void);
/* deterministic: "off", "run" or "bitwise"; NULL: the library's choice. ranks: processes of mpirun or srun become ranks, of
 * which the first alone speaks; else they are refused. */
gnt_status cli_context_create(const cli_machine *machine, const char *deterministic, bool ranks,
                              gnt_context **out);

/* ---- output option of verbs that write one file ---- */
typedef struct cli_output {
    char *output;
} cli_output;
const gnt_option *cli_output_table(void);
gnt_status cli_require_output(const cli_output *output);

/* ---- format.c: numbers for people ---- */
enum { CLI_FORMAT_BYTES = 48 };
const char *cli_format_count(int64_t value, char out[CLI_FORMAT_BYTES]);    /* 62,984 */
const char *cli_format_bytes(int64_t bytes, char out[CLI_FORMAT_BYTES]);    /* 1.5 MiB */
const char *cli_format_seconds(double seconds, char out[CLI_FORMAT_BYTES]); /* 2.1 ms, 3:07 */

/* ---- stop.c ---- */
/* From now on the first SIGINT, SIGTERM, SIGUSR1 or SIGUSR2 asks the trainer to stop, a later one leaves at once. */
void cli_stop_begin(gnt_trainer *tr);
void cli_stop_begin_ensemble(void); /* the same for the ensemble that trains in this process */
void cli_stop_end(void);
const char *cli_stop_reason(void); /* "SIGTERM", NULL: none came */

/* ---- progress.c ---- */
typedef struct cli_progress {
    int64_t first_epoch, num_epochs; /* epochs done before this call; in all */
    double started, last_shown;
    int64_t last_epoch_shown;
    bool on_terminal, line_open;
} cli_progress;
void cli_progress_begin(cli_progress *p, int64_t epochs_done, int64_t num_epochs);
void cli_progress_show(cli_progress *p, const gnt_epoch_stats *stats);
void cli_progress_end(cli_progress *p);

#endif
