/* files.h - for targets that are given a file system: what the program asks of the kernel is answered from the input, and
 * all that it remembers is forgotten before the next. SPDX-License-Identifier: MIT */
#ifndef FILES_H
#define FILES_H

#include "gpustat.h"

/* The files of a text. A line begins each: '=PATH' a file, whose text follows; '@PATH' a link, whose target follows; '!PATH'
 * one that may not be read; '?PATH' one whose read fails. PATH has no leading '/'; folders are those of the files. */
void files_set(struct str text);
void files_one(const char *path, struct str text, size_t piece); /* one, of any bytes */
void files_change(struct str text); /* what stands in them now; what is open stays so */
bool files_text(const char *path, struct str *text); /* of a file that can be read, and is reached without a link */
bool files_nth(size_t i, char *kind, struct str *path, struct str *text); /* one after another, as they stand there */
size_t files_reads(size_t i); /* how often that one was read since it has its text */
/* What a path leads to: its kind, '/' for a folder, '\0' for nothing, '?' where links are too many for a plain reader. Where that
 * is goes to full, which has PATH_MAX bytes. */
char files_behind(const char *path, char *full, struct str *text);
void files_off(void);                /* calls are the kernel's again */
extern size_t files_piece;   /* what a read gives at most; 0: all that is asked for */
extern char files_said[];    /* what was written to standard output */
extern size_t files_said_n;
extern size_t files_warned;  /* bytes that were written to standard error */
size_t files_open(void);     /* descriptors, but for those of the roots; they are printed */

/* The whole program with these words; its exit code. */
int program_run(const char *const *argv);

/* The same with a file "f", anew: once it reads that as a whole, once in pieces, and must say the same. Gives what it said. */
struct str program_reads(const char *const *argv, struct str f, size_t piece);

/* Every variable of the program as it was before main(). */
void program_reset(void);

#endif
