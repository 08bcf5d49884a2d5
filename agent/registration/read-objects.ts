/** Nodes and leases from what a server sends: unknown members are left out, missing ones empty. Pure. */

import { decode } from '#api/schema/decode.ts';
import type { Lease } from '#api/schema/gen/coordination-v1.ts';
import type { Node } from '#api/schema/gen/core-v1.ts';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import type { Json } from '../api-client/client.ts';

const LEASE = `coordination.${VOCABULARIES.plat.apiGroupDomain}/v1.Lease`;
const LENIENT = { unknownFields: 'ignore', missingFields: 'ignore' } as const;

export const readNode = (object: Json, vocabulary: Vocabulary): Node =>
  decode<Node>('core/v1.Node', object, { ...LENIENT, vocabulary }).value;

export const readLease = (object: Json, vocabulary: Vocabulary): Lease =>
  decode<Lease>(LEASE, object, { ...LENIENT, vocabulary }).value;
