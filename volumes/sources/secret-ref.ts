/** Secrets that volumes name: those of a pod's volume are in its namespace, those of a PersistentVolume say where. */
import type { Buffer } from 'node:buffer';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import { VolumeSetupError } from '../setup-error.ts';
import { secretData } from './content.ts';

/** A LocalObjectReference, a SecretReference or an ObjectReference. */
export interface SecretRef {
  readonly name?: string;
  readonly namespace?: string;
}

/** Every key of the secret with its bytes.
 *  @param namespace of the pod, for a reference that says none
 *  @throws VolumeSetupError when the reference has no name or there is no such secret */
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
