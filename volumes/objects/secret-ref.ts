/** Secrets referenced by volumes: a pod's volume refers to its namespace, a PersistentVolume specifies
 *  one. */
import type { Buffer } from 'node:buffer';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { secretData } from './object-data.ts';

/** A LocalObjectReference, a SecretReference or an ObjectReference. */
export interface SecretRef {
  readonly name?: string;
  readonly namespace?: string;
}

/** Returns every key of the secret with its bytes.
 *  @param namespace of the pod, for a reference without a namespace
 *  @throws VolumeSetupError when the reference has no name or the secret does not exist */
export async function readSecretRef(
  objects: ObjectReader,
  namespace: string,
  ref: SecretRef,
): Promise<ReadonlyMap<string, Buffer>> {
  const { name = '', namespace: own = '' } = ref;
  if (name === '') throw new VolumeSetupError('secretRef.name: Required value');
  const where = own === '' ? namespace : own;
  const secret = await objects.getSecret(where, name);
  if (secret === undefined) throw new VolumeSetupError(`Secret ${where}/${name} not found`);
  return secretData(secret);
}
