/** Allocates cluster IPs and node ports to services from pools in the store, and releases them. */

import type { ServiceSpec } from '#api/gen/core-v1.ts';
import { type IpFamily, ipFamilyOf } from '#api/meta/ip.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { invalid } from '#api/meta/status-errors.ts';
import { createFieldErrors } from '#api/schema/validation/field-errors.ts';
import type { ApiObject } from '../../contract.ts';
import { draftSpec } from '../../view.ts';
import {
  holdingsOf,
  isExternalName,
  isHeadless,
  needsHealthCheckPort,
  needsNodePorts,
  ownerOf,
  specOf,
  takesNodePorts,
} from '../service-needs.ts';
import type { AllocationOptions, RepairReport, ServiceAllocation } from './contract.ts';
import { createPool, type Pool, type PoolDeps } from './pool.ts';
import { type Claim, repairPool } from './repair.ts';
import { ipSpace, portSpace } from './spaces.ts';

/** Allocations of one request, released if it fails. */
interface Taking {
  readonly owner: string;
  readonly name: string;
  readonly taken: { readonly pool: Pool; readonly text: string }[];
}

const SERVICE = { group: '', name: 'Service' };

function refuse({ name }: Taking, path: string, value: unknown, detail: string): never {
  const errors = createFieldErrors();
  errors.invalid(path, value, detail);
  throw invalid(SERVICE, name, errors.all);
}

async function takeAny(taking: Taking, pool: Pool, what: string): Promise<string> {
  const text = await pool.takeAny(taking.owner);
  if (text === undefined) {
    throw new StatusError('InternalError', `failed to allocate a ${what}: range is full`);
  }
  taking.taken.push({ pool, text });
  return text;
}

/** @throws StatusError Invalid if the value is allocated or outside the pool */
async function takeGiven(
  taking: Taking,
  pool: Pool,
  text: string,
  path: string,
  what: string,
): Promise<void> {
  const result = await pool.take(text, taking.owner);
  if (result === 'taken') {
    taking.taken.push({ pool, text });
    return;
  }
  const why =
    result === 'occupied'
      ? `provided ${what} is already allocated`
      : `the provided ${what} is not in the valid range. The range of valid ${what}s is ${pool.space.description}`;
  refuse(taking, path, what === 'port' ? Number(text) : text, why);
}

async function takeAddresses(
  taking: Taking,
  pools: ReadonlyMap<IpFamily, Pool>,
  spec: { clusterIP?: string; clusterIPs?: readonly string[] } & Pick<ServiceSpec, 'ipFamilies'>,
  had: readonly string[],
): Promise<void> {
  const given = spec.clusterIPs ?? [];
  const addresses: string[] = [];
  for (const [index, family] of (spec.ipFamilies ?? []).entries()) {
    const pool = pools.get(family);
    const asked = given[index];
    if (pool === undefined) {
      return refuse(taking, `spec.ipFamilies[${index}]`, family, 'not configured on this cluster');
    }
    if (asked === undefined) addresses.push(await takeAny(taking, pool, 'serviceIP'));
    else {
      if (!had.includes(asked)) await takeGiven(taking, pool, asked, `spec.clusterIPs[${index}]`, 'IP');
      addresses.push(asked);
    }
  }
  const [first] = addresses;
  if (first === undefined) return undefined;
  spec.clusterIPs = addresses;
  spec.clusterIP = first;
  return undefined;
}

async function takeNodePorts(
  taking: Taking,
  pool: Pool,
  draft: ApiObject,
  had: ReadonlySet<number>,
): Promise<void> {
  const spec = draftSpec<ServiceSpec>(draft);
  const own = new Set(had);
  /** Node port by service port: one number serves the protocols of one service port. */
  const shared = new Map<number, number>();
  for (const [index, { port, nodePort = 0 }] of (spec.ports ?? []).entries()) {
    if (nodePort === 0) continue;
    if (!own.has(nodePort)) {
      await takeGiven(taking, pool, String(nodePort), `spec.ports[${index}].nodePort`, 'port');
    }
    own.add(nodePort);
    shared.set(port, shared.get(port) ?? nodePort);
  }
  if (!needsNodePorts(spec)) return;
  const ports = [...(spec.ports ?? [])];
  for (const [index, servicePort] of ports.entries()) {
    if ((servicePort.nodePort ?? 0) !== 0) continue;
    const nodePort = shared.get(servicePort.port) ?? Number(await takeAny(taking, pool, 'nodePort'));
    shared.set(servicePort.port, nodePort);
    ports[index] = { ...servicePort, nodePort };
  }
  spec.ports = ports;
}

async function takeHealthCheckPort(
  taking: Taking,
  pool: Pool,
  draft: ApiObject,
  had: ReadonlySet<number>,
): Promise<void> {
  const spec = draftSpec<ServiceSpec>(draft);
  const asked = spec.healthCheckNodePort ?? 0;
  if (asked === 0) spec.healthCheckNodePort = Number(await takeAny(taking, pool, 'HealthCheckNodePort'));
  else if (!had.has(asked)) await takeGiven(taking, pool, String(asked), 'spec.healthCheckNodePort', 'port');
}

async function giveBack({ taken, owner }: Taking): Promise<void> {
  for (const { pool, text } of taken.splice(0)) await pool.free(text, owner);
}

export function createServiceAllocation(deps: PoolDeps, options: AllocationOptions): ServiceAllocation {
  const ipPools = new Map(
    options.clusterIPRanges.map(
      (range) => [range.family, createPool(deps, ipSpace(range, options.staticSubrange))] as const,
    ),
  );
  const ports = createPool(deps, portSpace(options.nodePorts));

  async function free(object: ApiObject, kept: ReturnType<typeof holdingsOf>): Promise<void> {
    const { clusterIPs, nodePorts } = holdingsOf(object);
    const owner = ownerOf(object);
    for (const ip of clusterIPs) {
      if (kept.clusterIPs.includes(ip)) continue;
      const family = ipFamilyOf(ip);
      if (family !== undefined) await ipPools.get(family)?.free(ip, owner);
    }
    for (const port of nodePorts) {
      if (!kept.nodePorts.includes(port)) await ports.free(String(port), owner);
    }
  }

  return {
    families: [...ipPools.keys()],
    async reserve(draft, old) {
      const taking: Taking = { owner: ownerOf(draft), name: draft.metadata.name ?? '', taken: [] };
      const had = old === undefined ? NOTHING : holdingsOf(old);
      const hadPorts = new Set(had.nodePorts);
      const spec = specOf(draft);
      try {
        if (!isExternalName(spec) && !isHeadless(spec)) {
          await takeAddresses(taking, ipPools, draftSpec<ServiceSpec>(draft), had.clusterIPs);
        }
        if (takesNodePorts(spec)) await takeNodePorts(taking, ports, draft, hadPorts);
        if (needsHealthCheckPort(spec)) await takeHealthCheckPort(taking, ports, draft, hadPorts);
      } catch (thrown) {
        await giveBack(taking);
        throw thrown;
      }
      return () => giveBack(taking);
    },
    settle: (object, old) => free(old, holdingsOf(object)),
    release: (object) => free(object, NOTHING),
    async repair(services) {
      const reports = [
        await repairPool(ports, portsOf(services), deps.now()),
        ...(await repairAddresses(ipPools, services, deps.now())),
      ];
      return {
        restored: reports.reduce((sum, { restored }) => sum + restored, 0),
        freed: reports.reduce((sum, { freed }) => sum + freed, 0),
        conflicts: reports.flatMap(({ conflicts }) => conflicts),
      };
    },
  };
}

const NOTHING: ReturnType<typeof holdingsOf> = { clusterIPs: [], nodePorts: [] };

const portsOf = (services: readonly ApiObject[]): readonly Claim[] =>
  services.flatMap((service) =>
    holdingsOf(service).nodePorts.map((port) => ({ text: String(port), owner: ownerOf(service) })),
  );

function repairAddresses(
  pools: ReadonlyMap<IpFamily, Pool>,
  services: readonly ApiObject[],
  nowMs: number,
): Promise<readonly RepairReport[]> {
  const claims = services.flatMap((service) =>
    holdingsOf(service).clusterIPs.map((text) => ({ text, owner: ownerOf(service) })),
  );
  return Promise.all(
    [...pools].map(([family, pool]) =>
      repairPool(
        pool,
        claims.filter(({ text }) => ipFamilyOf(text) === family),
        nowMs,
      ),
    ),
  );
}
