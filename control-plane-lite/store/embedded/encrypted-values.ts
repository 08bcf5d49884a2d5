/** Which values of a store or backup are encrypted, by the prefix of their key. Blocking: for commands. */
import { DatabaseSync } from 'node:sqlite';
import { VOCABULARIES } from '#api/vocabulary.ts';

export interface EncryptedValues {
  /** Provider, version and name of the key, as in the values: `k8s:enc:aescbc:v1:key1`. */
  readonly prefix: string;
  readonly count: number;
}

const MARKS = Object.values(VOCABULARIES).map(({ encryptionMark }) => encryptionMark);
/** Longer than any prefix with the name of a key. */
const HEAD_BYTES = 512;

/** The first five parts of a value: vocabulary, mark, provider, version, name. */
function prefixOf(head: string): string | undefined {
  if (!MARKS.some((mark) => head.startsWith(mark))) return undefined;
  return head.split(':', 5).join(':');
}

/** Includes the values of the history. Sorted by prefix. */
export function countEncrypted(file: string): readonly EncryptedValues[] {
  const database = new DatabaseSync(file, { readOnly: true });
  const counts = new Map<string, number>();
  try {
    const rows = database.prepare(
      `SELECT substr(value, 1, ${HEAD_BYTES}) AS head FROM log WHERE value IS NOT NULL`,
    );
    for (const { head } of rows.iterate()) {
      const prefix = head instanceof Uint8Array ? prefixOf(Buffer.from(head).toString('latin1')) : undefined;
      if (prefix !== undefined) counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
    }
  } finally {
    database.close();
  }
  return [...counts]
    .map(([prefix, count]) => ({ prefix, count }))
    .sort((a, b) => (a.prefix < b.prefix ? -1 : 1));
}
