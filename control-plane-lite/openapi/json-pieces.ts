/** A document as JSON, piece by piece; some are empty. Pure. */
import { PAUSE } from './content.ts';
import type { Outline, Section } from './documents.ts';

function* sectionPieces({ within, name, entries }: Section): Generator<string> {
  const open = `${JSON.stringify(name)}:{`;
  yield within === undefined ? `,${open}` : `,${JSON.stringify(within)}:{${open}`;
  let first = true;
  for (const entry of entries()) {
    if (entry === PAUSE) {
      yield '';
      continue;
    }
    const [key, value] = entry;
    yield `${first ? '' : ','}${JSON.stringify(key)}:${JSON.stringify(value)}`;
    first = false;
  }
  yield within === undefined ? '}' : '}}';
}

export function* jsonPieces({ head, sections }: Outline): Generator<string> {
  yield JSON.stringify(head).slice(0, -1);
  for (const section of sections) yield* sectionPieces(section);
  yield '}';
}
