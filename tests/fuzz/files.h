/* files.h - for targets with a file system: the program's system calls are answered from the input,
 * and all its variables are reset before the next input. SPDX-License-Identifier: MIT */
#ifndef FILES_H
#define FILES_H

#include "tests/rooms.h"

/* Defines the files that a text contains. Each starts with a line: '=PATH' a file, followed by its
 * text; '@PATH' a link, followed by its target; '!PATH' a file without read permission; '?PATH' a
 * file whose read fails. PATH has no leading '/'; folders follow from the paths. */
void files_set(struct str text);
void files_one(const char *path, struct str text, size_t piece); /* one file, of any bytes */
void files_change(struct str text); /* new content; open files stay open */
/* the text of a file that is readable and reached without a link */
bool files_text(const char *path, struct str *text);
/* the files in the order of the text */
bool files_nth(size_t i, char *kind, struct str *path, struct str *text);
size_t files_reads(size_t i); /* number of reads of that file since it got its text */
/* Resolves a path. Returns its kind: '/' for a folder, '\0' for nothing, '?' if it has too many
 * links for a simple reader. Writes the resolved path to full, which has PATH_MAX bytes. */
char files_behind(const char *path, char *full, struct str *text);
void files_off(void);                /* calls go to the kernel again */
extern size_t files_piece;   /* the maximum size of a read; 0: unlimited */
extern char files_said[];    /* the text written to standard output */
extern size_t files_said_n;
extern size_t files_warned;  /* number of bytes written to standard error */
/* number of open descriptors, without those of the roots; prints them */
size_t files_open(void);

/* Runs the whole program with these words; returns its exit code. */
int program_run(const char *const *argv);

/* Runs it with a file "f", from the initial state: once reading the file as a whole, once in
 * pieces; the output must be equal. Returns the output. */
struct str program_reads(const char *const *argv, struct str f, size_t piece);

/* Resets every variable of the program to its value before main(). */
void program_reset(void);

#endif
