/** ConfigMaps and Secrets referenced by the environment of a container. Pure. */
import type { Container, EphemeralContainer } from '#api/gen/core-v1.ts';

export interface EnvReferences {
  /** Unique names in the namespace of the pod. */
  readonly configMaps: readonly string[];
  readonly secrets: readonly string[];
}

/** Returns the objects to fetch before `resolveEnv`. */
export function envReferences(
  container: Pick<Container | EphemeralContainer, 'env' | 'envFrom'>,
): EnvReferences {
  const configMaps = new Set<string>();
  const secrets = new Set<string>();
  for (const { configMapRef, secretRef } of container.envFrom ?? []) {
    if (configMapRef?.name !== undefined) configMaps.add(configMapRef.name);
    if (secretRef?.name !== undefined) secrets.add(secretRef.name);
  }
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.configMapKeyRef?.name !== undefined) configMaps.add(valueFrom.configMapKeyRef.name);
    if (valueFrom?.secretKeyRef?.name !== undefined) secrets.add(valueFrom.secretKeyRef.name);
  }
  return { configMaps: [...configMaps], secrets: [...secrets] };
}
