/** The codec against every message of the pinned tables, with protobufjs as a second implementation. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createMessageTypes } from '#api/codec/protobuf/message.ts';
import type { ProtoTable } from '#api/codec/protobuf/table.ts';
import criV1 from './data/cri-v1.json' with { type: 'json' };
import nodeProtos from './data/node-protos.json' with { type: 'json' };
import { forProtobufjs, messageArbitrary, protobufjsRoot } from './table-arbitraries.fixture.ts';

const TABLES: readonly (readonly [string, ProtoTable])[] = [['cri/v1', criV1], ...Object.entries(nodeProtos)];

describe.each(TABLES)('%s', (_, table) => {
  const types = createMessageTypes(table);
  const root = protobufjsRoot(table);

  test.each(Object.keys(table.messages))(
    '%s: decodes what it encoded, and encodes as protobufjs does',
    (name) => {
      const type = types.type(name);
      const reference = root.lookupType(`${table.protoPackage}.${name}`);
      fc.assert(
        fc.property(messageArbitrary(table, name), (message) => {
          const bytes = type.encode(message);
          expect(type.decode(bytes)).toEqual(message);
          const referenceBytes = reference.encode(forProtobufjs(table, name, message)).finish();
          expect(Buffer.from(bytes).toString('hex')).toBe(Buffer.from(referenceBytes).toString('hex'));
        }),
        { numRuns: 25 },
      );
    },
  );
});
