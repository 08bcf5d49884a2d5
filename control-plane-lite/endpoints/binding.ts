/** Binds a pod to its node: `pods/<name>/binding`, or `bindings` with the pod's name in the object. */
import type { ApiRequest, ApiResponse } from '../http/contract.ts';
import type { Resource } from '../resources/contract.ts';
import { bindPod, checkBinding } from '../resources/core/pod-binding.ts';
import type { EndpointDeps } from './deps.ts';
import { callerOf, parseWriteQuery, refOf } from './read-request.ts';
import { targetOf } from './write.ts';

/** @throws StatusError Conflict if the pod already has a node */
export async function bindingEndpoint(
  deps: EndpointDeps,
  request: ApiRequest,
  resources: { readonly pods: Resource; readonly bindings: Resource },
): Promise<ApiResponse> {
  const query = parseWriteQuery(request.query, request.headers['user-agent'], 'CreateOptions');
  const binding = await deps.content.readObject(request, targetOf(resources.bindings), query.fieldValidation);
  const name = request.info.name === '' ? (binding.metadata.name ?? '') : request.info.name;
  checkBinding(binding, name);
  const { pods, bindings } = resources;
  const isPart = request.info.subresource !== '';
  await deps.verbs.admit({
    ref: { ...refOf(request, isPart ? pods : bindings), name },
    draft: binding,
    dryRun: query.dryRun,
    operation: 'CREATE',
    subresource: request.info.subresource,
    schema: bindings.schema,
    caller: callerOf(request),
  });
  // Admission may have changed it.
  checkBinding(binding, name);
  await deps.verbs.update({
    ref: { resource: pods, namespace: request.info.namespace, name },
    change: (live) => bindPod(live, binding, { nowMs: deps.clock.now(), vocabulary: deps.vocabulary }),
    ...query,
    subresource: 'binding',
    admitted: true,
    caller: callerOf(request),
  });
  return deps.content.plain(request, 201, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    code: 201,
  });
}
