/** Calls of drivers as the pod's author is to read of their failures. */
import { CriError } from '#cri/errors.ts';
import { VolumeSetupError } from '../setup-error.ts';
import { readSecretRef, type SecretRef } from '../sources/secret-ref.ts';
import type { SourceRequest } from '../sources/source.ts';
import type { Driver } from './contract.ts';

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

/** What a secret holds, as drivers get it. @throws VolumeSetupError */
export async function secretsFor(
  { services, namespace }: Pick<SourceRequest, 'services' | 'namespace'>,
  ref: SecretRef | undefined,
): Promise<Readonly<Record<string, string>>> {
  if (ref === undefined) return {};
  const data = await readSecretRef(services.objects, namespace, ref);
  return Object.fromEntries([...data].map(([key, bytes]) => [key, bytes.toString('utf8')]));
}
