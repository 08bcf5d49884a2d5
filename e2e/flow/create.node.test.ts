/** The call path of a create in docs/flow.md, compared with the functions that run. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { listedFiles } from './listed-files.ts';

const PROGRAM = join(import.meta.dirname, 'trace-plane.ts');

/** Files of the server's own path, without plugins, schemas and helpers that every part uses. */
const OWN_PATH =
  /^control-plane-lite\/(?:(?:http|endpoints|content|verbs|cache|store)\/|apply\/track-update|resources\/(?:generic|builtin-schema))/;

interface Traced {
  readonly all: readonly string[];
  /** Without a request. */
  readonly idle: readonly string[];
}

test('a create runs the files that the page lists, and not many more', { timeout: 60_000 }, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM], { maxBuffer: 2 ** 24 });
  const { all, idle } = JSON.parse(stdout) as Traced;
  expect(listedFiles(1).filter((path) => !all.includes(path))).toEqual([]);
  const ran = all.filter((path) => !idle.includes(path));
  const own = ran.filter((path) => OWN_PATH.test(path));
  console.log(
    `files of a create: ${own.length} of the path itself, ${ran.length} with plugins, schemas and helpers`,
  );
  expect(own.length).toBeLessThanOrEqual(50);
  // Eight of them are flow control's: every request passes it, so they run although a create does not need them.
  expect(ran.length).toBeLessThanOrEqual(116);
});
