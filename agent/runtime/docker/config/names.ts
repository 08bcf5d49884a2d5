/** Names of containers in docker. Docker rejects a second container of a name, and with it a second sandbox or
 *  container with the same metadata. Pure. */
import { createHash } from 'node:crypto';
import type { ContainerMetadata, PodSandboxMetadata } from '#cri/gen/cri-v1.ts';

const HASH_DIGITS = 12;
const LONGEST_PART = 63;

/** Readable parts, and a hash of all of them: parts may contain characters that names must not have. */
function nameOf(kind: string, parts: readonly (string | number)[]): string {
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, HASH_DIGITS);
  const readable = parts.map((part) =>
    String(part)
      .replaceAll(/[^\w.-]/g, '-')
      .slice(0, LONGEST_PART),
  );
  return ['nodeagent', kind, ...readable.slice(1), hash].join('_');
}

export const sandboxName = (node: string, { name, namespace, uid, attempt }: PodSandboxMetadata): string =>
  nameOf('pod', [node, name, namespace, uid, attempt]);

export const containerName = (
  node: string,
  sandboxId: string,
  pod: Pick<PodSandboxMetadata, 'name' | 'namespace'>,
  { name, attempt }: ContainerMetadata,
): string => nameOf('container', [node, name, pod.name, pod.namespace, sandboxId.slice(0, 12), attempt]);
