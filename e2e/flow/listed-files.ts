/** Files that docs/flow.md lists. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGE = join(import.meta.dirname, '../../docs/flow.md');

/** @param path number of the call path on the page, from 0 */
export function listedFiles(path: number): readonly string[] {
  const section = readFileSync(PAGE, 'utf8').split('\n## ')[path + 1] ?? '';
  return [...section.matchAll(/`([\w./-]+\.ts)`/g)].map(([, file = '']) => file);
}
