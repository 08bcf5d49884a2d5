/** A typed client of the socket at which a node tells who has which resources. */
import { createMessageTypes } from '#api/codec/protobuf/message.ts';
import nodeProtos from '../data/node-protos.json' with { type: 'json' };
import type { PodResourcesLister } from '../gen/podresources-v1.ts';
import { createBriefChannel } from './brief-channel.ts';
import { parseEndpoint } from './endpoint.ts';
import { createMethods, type RpcFact, type ServiceMethod } from './service.ts';

const TABLE = nodeProtos['podresources/v1'];
const CALL_MS = 10_000;

/** The rpcs of a version. That of v1alpha1 has `List` alone, whose messages are those of v1 with fewer fields. */
export function podResourcesRpcs(version: 'v1' | 'v1alpha1'): readonly RpcFact[] {
  const rpcs: readonly RpcFact[] = TABLE.services.PodResourcesLister;
  if (version === 'v1') return rpcs;
  return rpcs
    .filter(({ rpc }) => rpc === 'List')
    .map((fact) => ({ ...fact, path: fact.path.replace('/v1.', '/v1alpha1.') }));
}

type Methods = Readonly<Record<string, ServiceMethod>>;
const isLister = (methods: Methods): methods is Methods & PodResourcesLister => 'list' in methods;

/** @throws EndpointError */
export function createPodResourcesClient(
  endpoint: string,
  version: 'v1' | 'v1alpha1' = 'v1',
): PodResourcesLister {
  const channel = createBriefChannel(parseEndpoint(endpoint));
  const types = createMessageTypes(TABLE);
  const methods = createMethods({ channel, types, timeoutMs: () => CALL_MS }, podResourcesRpcs(version));
  if (!isLister(methods)) throw new TypeError('table lacks the service of pod resources');
  return methods;
}
