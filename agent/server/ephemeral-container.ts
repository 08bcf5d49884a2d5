/** Adds an ephemeral container to a running pod. */
import { parseDocumentsInTurns } from '#api/codec/documents.ts';
import { formatFieldError } from '#api/meta/field-error.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { PodValidationOptions } from '#api/schema/validation/pod.ts';
import { podFullName, podIdentity } from '../pod-identity/identity.ts';
import { addEphemeralContainer as withContainer } from '../pods/decide/ephemeral.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { PodEntry } from '../pods/slot.ts';

export interface EphemeralContainerDeps {
  readonly manager: Pick<PodManager, 'worker'>;
  readonly options: PodValidationOptions;
  /** The feature gate EphemeralContainers. */
  readonly enabled: boolean;
}

/** Resolves once the container is recorded; the pod worker then starts it.
 *  @param text one EphemeralContainer as JSON or YAML
 *  @throws StatusError listing every validation error */
export async function addEphemeralContainer(
  { manager, options, enabled }: EphemeralContainerDeps,
  entry: PodEntry,
  text: string,
  signal: AbortSignal,
): Promise<PodEntry> {
  if (!enabled) throw new StatusError('Forbidden', 'the feature gate EphemeralContainers is off');
  const identity = podIdentity(entry.pod);
  const value = await parseOne(text, signal);
  const worker = manager.worker(identity.namespace, identity.name);
  // The pod may have been replaced while the text was parsed.
  if (worker?.pod.metadata?.uid !== identity.uid) {
    throw new StatusError('Conflict', `pod ${podFullName(identity)} has been replaced`);
  }
  const pod = await worker.change((current) => withContainer(current, value, options));
  return { ...entry, pod, status: worker.status(), deletion: worker.deletion };
}

async function parseOne(text: string, signal: AbortSignal): Promise<unknown> {
  const [document, ...others] = await parseDocumentsInTurns(text, signal);
  if (document === undefined || others.length > 0) {
    throw new StatusError('BadRequest', 'the body must be one EphemeralContainer as JSON or YAML');
  }
  const { value, errors } = document;
  if (errors.length > 0) throw new StatusError('BadRequest', errors.map(formatFieldError).join('\n'));
  return value;
}
