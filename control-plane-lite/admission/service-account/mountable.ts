/** Service accounts that restrict their pods to the listed secrets. Pure. */
import type { Container, EphemeralContainer, Pod, ServiceAccount } from '#api/gen/core-v1.ts';

/** Why a container may not have its secrets. */
function containerError(
  what: string,
  { name, env = [], envFrom = [] }: Container | EphemeralContainer,
  mayUse: (secret: string) => boolean,
  because: (secret: string) => string,
): string | undefined {
  for (const { name: variable, valueFrom } of env) {
    const secret = valueFrom?.secretKeyRef?.name;
    if (secret !== undefined && !mayUse(secret))
      return `${what} ${name} with envVar ${variable} referencing ${because(secret)}`;
  }
  for (const { secretRef } of envFrom) {
    const secret = secretRef?.name;
    if (secret !== undefined && !mayUse(secret))
      return `${what} ${name} with envFrom referencing ${because(secret)}`;
  }
  return undefined;
}

/** Why the pod may not have one of its secrets; `undefined`: it may have all. */
export function secretError({ spec }: Pod, account: ServiceAccount): string | undefined {
  if (spec === undefined) return undefined;
  const listed = new Set((account.secrets ?? []).map(({ name }) => name));
  const accountName = account.metadata?.name ?? '';
  const mayUse = (secret: string): boolean => listed.has(secret);
  const refusedAs = (what: string): string =>
    `is not allowed because service account ${accountName} does not reference that ${what}`;
  const because = (secret: string): string =>
    `secret.secretName=${JSON.stringify(secret)} ${refusedAs('secret')}`;
  for (const { secret } of spec.volumes ?? []) {
    const name = secret?.secretName;
    if (name !== undefined && !mayUse(name)) return `volume with ${because(name)}`;
  }
  const groups: readonly (readonly [string, readonly (Container | EphemeralContainer)[]])[] = [
    ['init container', spec.initContainers ?? []],
    ['container', spec.containers],
    ['ephemeral container', spec.ephemeralContainers ?? []],
  ];
  for (const [what, containers] of groups) {
    for (const container of containers) {
      const error = containerError(what, container, mayUse, because);
      if (error !== undefined) return error;
    }
  }
  const forImages = new Set((account.imagePullSecrets ?? []).map(({ name }) => name));
  const bad = (spec.imagePullSecrets ?? []).findIndex(({ name }) => !forImages.has(name));
  if (bad < 0) return undefined;
  const name = JSON.stringify(spec.imagePullSecrets?.[bad]?.name ?? '');
  return `imagePullSecrets[${bad}].name=${name} ${refusedAs('imagePullSecret')}`;
}
