/** Log files of a directory, one for each severity, with upstream's names: a file is named by program, machine,
 *  user, severity, time and process, and a link by program and severity. A line is written to the files of its own and
 *  of lower severities. */
import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { LineOutput } from '#api/kit/logging/process-logger.ts';
import { openLogFile } from './log-file.ts';
import { SEVERITIES, severityOf } from './severity.ts';

export interface LogProcess {
  readonly program: string;
  readonly host: string;
  readonly user: string;
  readonly pid: number;
}

export interface SeverityFilesOptions {
  readonly dir: string;
  readonly process: LogProcess;
  /** Ms since the epoch. */
  readonly now: () => number;
  readonly maxBytes: number;
  readonly flushMs: number;
  readonly header: () => string;
  /** Writes each line only to the file of its own severity. */
  readonly oneOutput: boolean;
}

const pad = (value: number): string => String(value).padStart(2, '0');

function timeOf(atMs: number): string {
  const at = new Date(atMs);
  const day = `${at.getFullYear()}${pad(at.getMonth() + 1)}${pad(at.getDate())}`;
  return `${day}-${pad(at.getHours())}${pad(at.getMinutes())}${pad(at.getSeconds())}`;
}

/** `nodeagent.host.root.log.INFO.20221128-160000.4711` */
function severityFileName({ program, host, user, pid }: LogProcess, severity: string, atMs: number): string {
  return `${program}.${host}.${user}.log.${severity}.${timeOf(atMs)}.${pid}`;
}

/** Replaces the link, atomically. */
function link(dir: string, program: string, severity: string, target: string): void {
  const path = join(dir, `${program}.${severity}`);
  rmSync(`${path}.new`, { force: true });
  symlinkSync(target, `${path}.new`);
  renameSync(`${path}.new`, path);
}

/** Opens each file with its first line.
 *  @throws Error of the system when the directory or the first file cannot be created */
export function openSeverityFiles(options: SeverityFilesOptions): LineOutput {
  const { dir, process: owner, now, maxBytes, flushMs, header, oneOutput } = options;
  mkdirSync(dir, { recursive: true });
  const files: (LineOutput | undefined)[] = [];

  function open(severity: number): LineOutput {
    const name = SEVERITIES[severity] ?? 'INFO';
    let current = '';
    let previous = '';
    let count = 0;
    // Of a process, the current file and the one before are retained.
    const next = (): string => {
      if (previous !== '') rmSync(previous, { force: true });
      previous = current;
      const base = join(dir, severityFileName(owner, name, now()));
      // Two files of one second have different names.
      current = base === previous || count > 0 ? `${base}.${count}` : base;
      count += 1;
      link(dir, owner.program, name, basename(current));
      return current;
    };
    return openLogFile(next(), { maxBytes, flushMs, header, next });
  }

  files[0] = open(0);
  return {
    write(line, severity) {
      const highest = severityOf(line, severity);
      for (let each = oneOutput ? highest : 0; each <= highest; each += 1) {
        const file = files[each] ?? open(each);
        files[each] = file;
        file.write(line, severity);
      }
    },
  };
}
