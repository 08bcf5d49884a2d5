/** Typed client of the pod-resources socket of a node. */
import { createMessageTypes } from '#api/codec/protobuf/message.ts';
import nodeProtos from '../data/node-protos.json' with { type: 'json' };
import type { PodResourcesLister } from '../gen/podresources-v1.ts';
import { createBriefChannel } from './brief-channel.ts';
import { parseEndpoint } from './endpoint.ts';
import { createMethods, type RpcFact, type ServiceMethod } from './service.ts';

const TABLE = nodeProtos['podresources/v1'];
const CALL_MS = 10_000;

/** The rpcs of a version. v1alpha1 has only `List`, with a subset of the fields of v1. */
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
  if (!isLister(methods)) throw new TypeError('the descriptors contain no pod resources service');
  return methods;
}
