/** Calls to drivers, with errors phrased for the author of the pod. */
import { CriError } from '#cri/errors.ts';
import type { Driver } from '../contract/csi.ts';
import type { SourceRequest } from '../contract/source.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { readSecretRef, type SecretRef } from '../objects/secret-ref.ts';

/** @throws VolumeSetupError naming the driver; the signal's reason */
export async function callDriver<T>(
  { name, node }: Pick<Driver, 'name' | 'node'>,
  call: (node: Driver['node']) => Promise<T>,
): Promise<T> {
  try {
    return await call(node);
  } catch (thrown) {
    if (!(thrown instanceof CriError)) throw thrown;
    throw new VolumeSetupError(`CSI driver ${name}: ${thrown.message}`, { cause: thrown });
  }
}

/** Returns the data of a Secret in the form that drivers expect. @throws VolumeSetupError */
export async function secretsFor(
  { services, namespace }: Pick<SourceRequest, 'services' | 'namespace'>,
  ref: SecretRef | undefined,
): Promise<Readonly<Record<string, string>>> {
  if (ref === undefined) return {};
  const data = await readSecretRef(services.objects, namespace, ref);
  return Object.fromEntries([...data].map(([key, bytes]) => [key, bytes.toString('utf8')]));
}
