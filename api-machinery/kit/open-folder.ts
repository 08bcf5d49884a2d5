/** Makes folders that everybody may read, whatever the umask of the process is. */
import { chmod, mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** Those above it too, where they are missing; what is there keeps its mode. */
export async function makeOpenFolder(path: string): Promise<void> {
  const whole = resolve(path);
  const first = await mkdir(whole, { recursive: true, mode: 0o755 });
  if (first === undefined) return;
  for (let made = whole; made.length >= first.length; made = dirname(made)) await chmod(made, 0o755);
}
