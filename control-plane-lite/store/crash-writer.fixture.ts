/** Program of the crash test: on a line of input it opens the store and runs 32 writers until it is killed.
 *  For each acknowledged write it appends key, name of the value and revision to the file at descriptor 3.
 *  The first acknowledgement also prints a line.
 *  Arguments: the store's folder, and a text that distinguishes its keys from those of other runs. */
import { Buffer } from 'node:buffer';
import { writeSync } from 'node:fs';
import { createEmbeddedStore } from './embedded/store.ts';
import { sealedValue, unsealValue } from './sealed-value.fixture.ts';

const WRITERS = 32;
const ANSWERS_FD = 3;
const [dir = '', run = ''] = process.argv.slice(2);

await new Promise((resolve) => process.stdin.once('data', resolve));
const store = await createEmbeddedStore({ dir });

let acknowledged = 0;

/** A write was acknowledged: it is recorded before anything else happens. */
function report(key: string, name: string, revision: number): void {
  writeSync(ANSWERS_FD, Buffer.from(`${key} ${name} ${revision}\n`));
  if (acknowledged === 0) process.stdout.write('first\n');
  acknowledged += 1;
}

/** Alternately creates a new object and replaces or deletes one shared by all runs. */
async function write(writer: number): Promise<void> {
  const shared = `/shared/${writer}`;
  for (let i = 0; ; i += 1) {
    const name = `${run}.${writer}.${i}`;
    const made = await store.put(`/own/${name}`, sealedValue(name), 'absent');
    if (made.ok) report(`/own/${name}`, name, made.revision);
    const current = await store.get(shared);
    if (current !== undefined) unsealValue(current.value);
    if (current !== undefined && i % 5 === 4) {
      const deleted = await store.delete(shared, current.revision);
      if (deleted.ok) report(shared, '-', deleted.revision);
    } else {
      const put = await store.put(shared, sealedValue(name), current?.revision ?? 'absent');
      if (put.ok) report(shared, name, put.revision);
    }
  }
}

async function compact(): Promise<void> {
  for (;;) {
    const revision = await store.currentRevision();
    await store.compact(Math.max(1, revision - 200));
  }
}

await Promise.all([compact(), ...Array.from({ length: WRITERS }, (_, writer) => write(writer))]);
