/** A document of OpenAPI 2 as protobuf, piece by piece: one message whose long members come in many parts, which
 *  readers of protobuf join; some are empty. Pure. */
import { Writer } from '#api/codec/protobuf/writer.ts';
import { PAUSE } from './content.ts';
import type { Outline } from './documents.ts';
import { writeDocument } from './protobuf-messages.ts';

export function* protobufPieces({ head, sections }: Outline): Generator<Uint8Array> {
  const writer = new Writer();
  writeDocument(writer, head);
  yield writer.finish();
  for (const { name, entries } of sections) {
    for (const entry of entries()) {
      if (entry !== PAUSE) writeDocument(writer, { [name]: { [entry[0]]: entry[1] } });
      yield writer.finish();
    }
  }
}
