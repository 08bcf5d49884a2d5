/** Creates directories with mode 0755 regardless of the process's umask. */
import { chmod, mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** Also creates missing parents; existing directories keep their mode. */
export async function makeOpenFolder(path: string): Promise<void> {
  const whole = resolve(path);
  const first = await mkdir(whole, { recursive: true, mode: 0o755 });
  if (first === undefined) return;
  for (let made = whole; made.length >= first.length; made = dirname(made)) await chmod(made, 0o755);
}
