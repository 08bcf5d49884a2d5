/** Decodes nodes and leases of a server: unknown members are dropped, missing ones empty. Pure. */

import type { Lease } from '#api/gen/coordination-v1.ts';
import type { Node } from '#api/gen/core-v1.ts';
import { decode } from '#api/schema/decode.ts';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import type { Json } from '../api-client/client.ts';

const LEASE = `coordination.${VOCABULARIES.plat.apiGroupDomain}/v1.Lease`;
const LENIENT = { unknownFields: 'ignore', missingFields: 'ignore' } as const;

export const readNode = (object: Json, vocabulary: Vocabulary): Node =>
  decode<Node>('core/v1.Node', object, { ...LENIENT, vocabulary }).value;

export const readLease = (object: Json, vocabulary: Vocabulary): Lease =>
  decode<Lease>(LEASE, object, { ...LENIENT, vocabulary }).value;
