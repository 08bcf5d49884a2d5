/** Note of the packet rules that the agent has established, in its root directory: `nodeagent uninstall` removes
 *  by it what an agent of any configuration has established, and nothing of another platform. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '#api/kit/errno.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';

type VocabularyName = keyof typeof VOCABULARIES;

export const rulesNotePath = (rootDir: string): string => join(rootDir, 'packet-rules');

const isVocabulary = (name: string): name is VocabularyName => Object.hasOwn(VOCABULARIES, name);

export async function writeRulesNote(path: string, vocabulary: VocabularyName): Promise<void> {
  await writeFile(path, `${vocabulary}\n`, { mode: 0o600 });
}

/** Returns the prefix of the chains; undefined if the agent has established none. */
export async function readRulesNote(path: string): Promise<string | undefined> {
  try {
    const name = (await readFile(path, 'utf8')).trim();
    return isVocabulary(name) ? VOCABULARIES[name].chainPrefix : undefined;
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT')) return undefined;
    throw thrown;
  }
}

export const removeRulesNote = (path: string): Promise<void> => rm(path, { force: true });
