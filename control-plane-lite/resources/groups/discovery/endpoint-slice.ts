/** EndpointSlices, stored in version 1. Version 1beta1 describes the topology of an endpoint with a map of
 *  labels, which version 1 only preserves for clients that wrote it there. Source: discovery/v1,
 *  discovery/v1beta1. */
import { isDeepStrictEqual } from 'node:util';
import type { Endpoint, EndpointPort, EndpointSlice } from '#api/gen/discovery-v1.ts';
import { isMutableObject } from '#api/kit/object.ts';
import { ipFamilyOf, nonSpecialIpErrors } from '#api/meta/ip.ts';
import {
  dns1123LabelErrors,
  dns1123SubdomainErrors,
  portNumberErrors,
  qualifiedNameErrors,
} from '#api/meta/names.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject, Conversion, KindEntry } from '../../contract.ts';
import { ageOf, UNSET } from '../../rows.ts';
import { type Members } from '../../view.ts';
import { validateLabelMap } from '../conditions.ts';
import { type KindRules, kindStrategy, type Mutable, validateImmutable } from '../kind.ts';

const MAX_ENDPOINTS = 1000;
const MAX_ADDRESSES = 100;
const MAX_PORTS = 100;
const MAX_TOPOLOGY = 16;
const MAX_ZONES = 8;
const MOST_SHOWN = 3;
const MOST_PORTS_SHOWN = 3;

const tooMany = (errors: FieldErrors, count: number, max: number, path: string): void => {
  if (count > max) errors.add('FieldValueTooMany', path, `must have at most ${max} items`, count);
};

function validateAddress(errors: FieldErrors, address: string, type: string, path: string): void {
  if (type === 'FQDN') {
    const name = address.endsWith('.') ? address.slice(0, -1) : address;
    const errorsOfName = dns1123SubdomainErrors(name);
    const form = name.includes('.') ? errorsOfName : ['should be a domain with at least two segments'];
    errors.invalidAll(path, address, errorsOfName.length > 0 ? errorsOfName : form);
    return;
  }
  if (ipFamilyOf(address) !== type) errors.invalid(path, address, `must be an ${type} address`);
  else errors.invalidAll(path, address, nonSpecialIpErrors(address));
}

function validateHints(errors: FieldErrors, { hints }: Endpoint, path: string): void {
  const zones = hints?.forZones ?? [];
  tooMany(errors, zones.length, MAX_ZONES, path);
  const seen = new Set<string>();
  for (const [index, { name }] of zones.entries()) {
    if (name === '') errors.required(`${path}[${index}].name`);
    if (seen.has(name)) errors.duplicate(`${path}[${index}].name`, name);
    seen.add(name);
  }
}

/** Either version's. */
type AnyEndpoint = Endpoint & { readonly topology?: Readonly<Record<string, string>> };

function validateEndpoint(errors: FieldErrors, endpoint: AnyEndpoint, type: string, path: string): void {
  const { addresses, hostname, nodeName, topology = {}, deprecatedTopology = topology } = endpoint;
  if (addresses.length === 0) errors.required(`${path}.addresses`, 'must contain at least 1 address');
  tooMany(errors, addresses.length, MAX_ADDRESSES, `${path}.addresses`);
  for (const [index, address] of addresses.entries()) {
    validateAddress(errors, address, type, `${path}.addresses[${index}]`);
  }
  if (nodeName !== undefined)
    errors.invalidAll(`${path}.nodeName`, nodeName, dns1123SubdomainErrors(nodeName));
  tooMany(errors, Object.keys(deprecatedTopology).length, MAX_TOPOLOGY, `${path}.deprecatedTopology`);
  validateLabelMap(errors, deprecatedTopology, `${path}.deprecatedTopology`);
  if (hostname !== undefined) errors.invalidAll(`${path}.hostname`, hostname, dns1123LabelErrors(hostname));
  validateHints(errors, endpoint, `${path}.hints.forZones`);
}

function validatePorts(errors: FieldErrors, ports: readonly EndpointPort[]): void {
  tooMany(errors, ports.length, MAX_PORTS, 'ports');
  const names = new Set<string>();
  for (const [index, { name = '', protocol, port, appProtocol }] of ports.entries()) {
    const path = `ports[${index}]`;
    if (names.has(name)) errors.duplicate(`${path}.name`, name);
    names.add(name);
    if (name !== '') errors.invalidAll(`${path}.name`, name, dns1123LabelErrors(name));
    if (protocol === undefined) errors.required(`${path}.protocol`);
    if (port !== undefined) errors.invalidAll(`${path}.port`, port, portNumberErrors(port));
    if (appProtocol !== undefined) {
      errors.invalidAll(`${path}.appProtocol`, appProtocol, qualifiedNameErrors(appProtocol));
    }
  }
}

function portsCell(ports: readonly EndpointPort[]): string {
  if (ports.length === 0) return UNSET;
  const texts = ports.map(({ port, name = '' }) => (port === undefined ? name : String(port)));
  return shortened(texts, MOST_PORTS_SHOWN);
}

function endpointsCell(endpoints: readonly Endpoint[]): string {
  if (endpoints.length === 0) return UNSET;
  return shortened(
    endpoints.flatMap(({ addresses }) => addresses),
    MOST_SHOWN,
  );
}

function shortened(texts: readonly string[], most: number): string {
  const more = texts.length - most;
  return more > 0 ? `${texts.slice(0, most).join(',')} + ${more} more...` : texts.join(',');
}

const RULES: KindRules<EndpointSlice> = {
  countsGeneration: true,
  generationChanged: (object, old) => {
    const { metadata, ...content } = object;
    const { metadata: oldMetadata, ...before } = old;
    return !isDeepStrictEqual(content, before) || !isDeepStrictEqual(metadata?.labels, oldMetadata?.labels);
  },
  validate(errors, { addressType, endpoints, ports = [] }) {
    tooMany(errors, endpoints.length, MAX_ENDPOINTS, 'endpoints');
    for (const [index, endpoint] of endpoints.slice(0, MAX_ENDPOINTS).entries()) {
      validateEndpoint(errors, endpoint, addressType, `endpoints[${index}]`);
    }
    validatePorts(errors, ports);
  },
  validateUpdate: (errors, object, old) =>
    validateImmutable(errors, object.addressType, old.addressType, 'addressType'),
  row: (object, { nowMs }) => [
    object.metadata?.name ?? '',
    object.addressType,
    portsCell(object.ports ?? []),
    endpointsCell(object.endpoints),
    ageOf(object, nowMs),
  ],
};

/** Takes the map of labels off endpoints that are written in version 1. A node that was only named there, by a slice of
 *  the older version, is still known after that. */
function dropTopology(
  draft: Mutable<EndpointSlice>,
  old: EndpointSlice | undefined,
  { labelHostname }: Vocabulary,
): void {
  const nodeIn = ({ deprecatedTopology }: Endpoint): string | undefined =>
    deprecatedTopology?.[labelHostname];
  if (old !== undefined && isDeepStrictEqual(draft.endpoints, old.endpoints)) return;
  const known = new Set((old?.endpoints ?? []).map(nodeIn));
  for (const endpoint of draft.endpoints) {
    const node = nodeIn(endpoint);
    if (endpoint.nodeName === undefined && node !== undefined && known.has(node)) endpoint.nodeName = node;
    delete endpoint.deprecatedTopology;
  }
}

export const endpointSlice: KindEntry = {
  strategy: kindStrategy<EndpointSlice>({
    ...RULES,
    prepareForCreate: (draft, { vocabulary }) => dropTopology(draft, undefined, vocabulary),
    prepareForUpdate: (draft, old, { vocabulary }) => dropTopology(draft, old, vocabulary),
  }),
};

/** An endpoint with the zone among its labels (1beta1), or in a member of its own (1). */
function endpointTo(version: 'v1' | 'v1beta1', endpoint: Members, zoneLabel: string): Members {
  if (version === 'v1beta1') {
    const { deprecatedTopology, zone, ...rest } = endpoint;
    const labels = isMutableObject(deprecatedTopology) ? deprecatedTopology : {};
    const topology = typeof zone === 'string' ? { ...labels, [zoneLabel]: zone } : labels;
    return Object.keys(topology).length === 0 ? rest : { ...rest, topology };
  }
  const { topology, ...rest } = endpoint;
  if (!isMutableObject(topology)) return rest;
  const { [zoneLabel]: zone, ...labels } = topology;
  return {
    ...rest,
    ...(Object.keys(labels).length === 0 ? {} : { deprecatedTopology: labels }),
    ...(zone === undefined ? {} : { zone }),
  };
}

function createSliceConversion({ apiGroupDomain, domain }: Vocabulary): Conversion {
  const to =
    (version: 'v1' | 'v1beta1') =>
    (draft: ApiObject): ApiObject => {
      const { endpoints } = draft;
      draft.apiVersion = `discovery.${apiGroupDomain}/${version}`;
      if (!Array.isArray(endpoints)) return draft;
      const zoneLabel = `topology.${domain}/zone`;
      draft['endpoints'] = endpoints.map((endpoint: unknown) =>
        isMutableObject(endpoint) ? endpointTo(version, endpoint, zoneLabel) : endpoint,
      );
      return draft;
    };
  return { toStorage: to('v1'), fromStorage: to('v1beta1') };
}

export const endpointSliceV1beta1 = (vocabulary: Vocabulary): KindEntry => ({
  strategy: kindStrategy<EndpointSlice>(RULES),
  storedAs: {
    group: `discovery.${VOCABULARIES.plat.apiGroupDomain}`,
    version: 'v1',
    conversion: createSliceConversion(vocabulary),
  },
  decidesInServed: true,
});
