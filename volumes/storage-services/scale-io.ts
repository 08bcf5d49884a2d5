/** Client of a ScaleIO gateway: volumes, and the machines to which they are mapped.
 *  Source: upstream's client, release 1.24. */

import { Buffer } from 'node:buffer';
import { trimEnd } from '#api/kit/text/trim-end.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { elementsOf, type JsonResponse, memberOf, requestJson, textOf } from './json-client.ts';

export interface GatewayAccess {
  /** Such as `https://gateway.example:443/api`. */
  readonly gateway: string;
  readonly username: string;
  readonly password: string;
  /** Whether the gateway's certificate is verified. */
  readonly verify: boolean;
}

export interface SystemVolume {
  readonly id: string;
  readonly storagePool: string;
  readonly protectionDomain: string;
}

export interface ScaleIoGateway {
  /** Returns the identifier of the system. @throws VolumeSetupError if the gateway has none of this name */
  systemId(name: string): Promise<string>;
  /** @throws VolumeSetupError if no volume has this name */
  volume(name: string): Promise<SystemVolume>;
  /** Returns the system's identifier of the machine with this GUID. @throws VolumeSetupError */
  machineId(systemId: string, guid: string): Promise<string>;
  /** Maps the volume to the machine. Idempotent. @throws VolumeSetupError */
  map(volumeId: string, machineId: string): Promise<void>;
  /** Unmaps the volume. Idempotent. @throws VolumeSetupError */
  unmap(volumeId: string, machineId: string): Promise<void>;
}

/** Error codes of the system. */
const ALREADY_MAPPED = 81;
const NOT_MAPPED = 84;

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

const errorCodeOf = (body: unknown): number | undefined => {
  const code = memberOf(body, 'errorCode');
  return typeof code === 'number' ? code : undefined;
};

/** Logs in. @throws VolumeSetupError */
export async function openGateway(access: GatewayAccess, signal: AbortSignal): Promise<ScaleIoGateway> {
  const base = trimEnd(access.gateway, '/');
  const tls = { rejectUnauthorized: access.verify };

  async function ask(
    authorization: string,
    path: string,
    body?: unknown,
    harmless?: number,
  ): Promise<JsonResponse['body']> {
    const url = new URL(`${base}${path}`);
    const method = body === undefined ? 'GET' : 'POST';
    const headers = { authorization };
    const response = await requestJson(
      { method, url, headers, tls, ...(body === undefined ? {} : { body }) },
      signal,
    );
    if (response.status === 200 || (harmless !== undefined && errorCodeOf(response.body) === harmless)) {
      return response.body;
    }
    const reason = textOf(response.body, 'message') ?? 'no reason given';
    throw new VolumeSetupError(`ScaleIO gateway ${url.host}: ${url.pathname}: ${response.status}, ${reason}`);
  }

  const token = await ask(basic(access.username, access.password), '/login');
  if (typeof token !== 'string') throw new VolumeSetupError(`ScaleIO gateway ${base} returned no token`);
  const authorization = basic('', token);
  const get = (path: string): Promise<unknown> => ask(authorization, path);

  async function named(kind: string, id: string): Promise<unknown> {
    return id === '' ? undefined : get(`/instances/${kind}::${encodeURIComponent(id)}`);
  }

  return {
    async systemId(name) {
      const systems = elementsOf(await get('/types/System/instances'));
      const found = systems.find((system) => textOf(system, 'name') === name);
      const id = textOf(found, 'id');
      if (id === undefined) throw new VolumeSetupError(`ScaleIO gateway ${base} has no system ${name}`);
      return id;
    },

    async volume(name) {
      const key = await ask(authorization, '/types/Volume/instances/action/queryIdByKey', { name });
      if (typeof key !== 'string' || !/^[0-9a-f]{1,32}$/.test(key)) {
        throw new VolumeSetupError(`ScaleIO gateway ${base} has no volume ${name}`);
      }
      const pool = await named('StoragePool', textOf(await named('Volume', key), 'storagePoolId') ?? '');
      const domain = await named('ProtectionDomain', textOf(pool, 'protectionDomainId') ?? '');
      return {
        id: key,
        storagePool: textOf(pool, 'name') ?? '',
        protectionDomain: textOf(domain, 'name') ?? '',
      };
    },

    async machineId(systemId, guid) {
      const path = `/instances/System::${encodeURIComponent(systemId)}/relationships/Sdc`;
      const found = elementsOf(await get(path)).find(
        (sdc) => textOf(sdc, 'sdcGuid')?.toLowerCase() === guid.toLowerCase(),
      );
      const id = textOf(found, 'id');
      if (id === undefined) throw new VolumeSetupError(`the ScaleIO system has no client ${guid}`);
      return id;
    },

    async map(volumeId, machineId) {
      const body = { sdcId: machineId, allowMultipleMappings: 'TRUE' };
      await ask(authorization, `/instances/Volume::${volumeId}/action/addMappedSdc`, body, ALREADY_MAPPED);
    },

    async unmap(volumeId, machineId) {
      const body = { sdcId: machineId };
      await ask(authorization, `/instances/Volume::${volumeId}/action/removeMappedSdc`, body, NOT_MAPPED);
    },
  };
}
