/** Ingresses. Source: networking/v1. */

import type {
  HTTPIngressPath,
  Ingress,
  IngressBackend,
  IngressRule,
  IngressTLS,
} from '#api/gen/networking-v1.ts';
import { ipFamilyOf } from '#api/meta/ip.ts';
import {
  dns1035LabelErrors,
  dns1123SubdomainErrors,
  portNameErrors,
  portNumberErrors,
} from '#api/meta/names.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf, NONE } from '../../rows.ts';
import { kindStrategy, statusPart } from '../kind.ts';
import { pathSegmentErrors, wildcardSubdomainErrors } from '../names.ts';

const BAD_SEQUENCES = ['//', '/./', '/../', '%2f', '%2F'];
const BAD_ENDINGS = ['/..', '/.'];
const MOST_HOSTS_SHOWN = 3;

function validateService(errors: FieldErrors, { service }: IngressBackend, path: string): void {
  if (service === undefined) return;
  const { name, port } = service;
  if (name === '') errors.required(`${path}.service.name`);
  else errors.invalidAll(`${path}.service.name`, name, dns1035LabelErrors(name));
  const { name: portName = '', number = 0 } = port ?? {};
  const at = `${path}.service.port`;
  if (portName !== '' && number !== 0)
    errors.invalid(path, portName, 'cannot set both port name & port number');
  else if (portName !== '') errors.invalidAll(`${at}.name`, portName, portNameErrors(portName));
  else if (number !== 0) errors.invalidAll(`${at}.number`, number, portNumberErrors(number));
  else errors.required(at, 'port name or number is required');
}

function validateBackend(errors: FieldErrors, backend: IngressBackend, path: string): void {
  const { service, resource } = backend;
  if (service !== undefined && resource !== undefined) {
    return errors.invalid(path, '', 'cannot set both resource and service backends');
  }
  if (resource !== undefined) {
    const { apiGroup, kind, name } = resource;
    if (apiGroup !== undefined) {
      errors.invalidAll(`${path}.resource.apiGroup`, apiGroup, dns1123SubdomainErrors(apiGroup));
    }
    for (const [member, text] of Object.entries({ kind, name })) {
      if (text === '') errors.required(`${path}.resource.${member}`);
      else errors.invalidAll(`${path}.resource.${member}`, text, pathSegmentErrors(text));
    }
    return undefined;
  }
  if (service === undefined) return errors.required(path, 'a service or a resource is needed');
  return validateService(errors, backend, path);
}

function validatePath(errors: FieldErrors, rule: HTTPIngressPath, at: string): void {
  const { path = '', pathType } = rule;
  if (pathType === 'Exact' || pathType === 'Prefix') {
    if (!path.startsWith('/')) errors.invalid(`${at}.path`, path, 'must be an absolute path');
    for (const sequence of BAD_SEQUENCES) {
      if (path.includes(sequence)) errors.invalid(`${at}.path`, path, `must not contain '${sequence}'`);
    }
    for (const ending of BAD_ENDINGS) {
      if (path.endsWith(ending)) errors.invalid(`${at}.path`, path, `cannot end with '${ending}'`);
    }
  } else if (path !== '' && !path.startsWith('/')) {
    errors.invalid(`${at}.path`, path, 'must be an absolute path');
  }
  validateBackend(errors, rule.backend, `${at}.backend`);
}

function validateRule(errors: FieldErrors, { host = '', http }: IngressRule, path: string): void {
  if (host !== '') {
    if (ipFamilyOf(host) !== undefined) {
      errors.invalid(`${path}.host`, host, 'must be a DNS name, not an IP address');
    } else errors.invalidAll(`${path}.host`, host, wildcardSubdomainErrors(host));
  }
  if (http === undefined) return;
  if (http.paths.length === 0) errors.required(`${path}.http.paths`);
  for (const [index, rule] of http.paths.entries()) {
    validatePath(errors, rule, `${path}.http.paths[${index}]`);
  }
}

function validateTls(errors: FieldErrors, { hosts = [], secretName = '' }: IngressTLS, path: string): void {
  for (const [index, host] of hosts.entries()) {
    errors.invalidAll(`${path}.hosts[${index}]`, host, wildcardSubdomainErrors(host));
  }
  if (secretName !== '') {
    errors.invalidAll(`${path}.secretName`, secretName, dns1123SubdomainErrors(secretName));
  }
}

function validateSpec(errors: FieldErrors, { spec = {} }: Ingress): void {
  const { rules = [], defaultBackend, tls = [], ingressClassName } = spec;
  if (rules.length === 0 && defaultBackend === undefined) {
    errors.invalid('spec', spec, 'either `defaultBackend` or `rules` must be specified');
  }
  if (defaultBackend !== undefined) validateBackend(errors, defaultBackend, 'spec.defaultBackend');
  for (const [index, rule] of rules.entries()) validateRule(errors, rule, `spec.rules[${index}]`);
  for (const [index, entry] of tls.entries()) validateTls(errors, entry, `spec.tls[${index}]`);
  if (ingressClassName !== undefined) {
    errors.invalidAll('spec.ingressClassName', ingressClassName, dns1123SubdomainErrors(ingressClassName));
  }
}

function validateStatus(errors: FieldErrors, { status }: Ingress): void {
  for (const [index, { ip = '', hostname = '' }] of (status?.loadBalancer?.ingress ?? []).entries()) {
    const path = `status.loadBalancer.ingress[${index}]`;
    if (ip !== '' && ipFamilyOf(ip) === undefined)
      errors.invalid(`${path}.ip`, ip, 'must be a valid IP address');
    if (hostname === '') continue;
    errors.invalidAll(`${path}.hostname`, hostname, dns1123SubdomainErrors(hostname));
    if (ipFamilyOf(hostname) !== undefined) {
      errors.invalid(`${path}.hostname`, hostname, 'must be a DNS name, not an IP address');
    }
  }
}

const annotationOf = ({ domain }: Vocabulary): string => `${domain}/ingress.class`;

function hostsCell(rules: readonly IngressRule[]): string {
  const hosts = rules.map(({ host = '' }) => host).filter((host) => host !== '');
  if (hosts.length === 0) return '*';
  const more = hosts.length - MOST_HOSTS_SHOWN;
  return more > 0 ? `${hosts.slice(0, MOST_HOSTS_SHOWN).join(',')} + ${more} more...` : hosts.join(',');
}

const addressCell = ({ status }: Ingress): string =>
  (status?.loadBalancer?.ingress ?? [])
    .map(({ ip = '', hostname = '' }) => (ip === '' ? hostname : ip))
    .join(',');

export const createIngress = (vocabulary: Vocabulary): KindEntry => ({
  strategy: kindStrategy<Ingress>({
    prepareForCreate(draft) {
      draft.status = { loadBalancer: {} };
    },
    validate: validateSpec,
    validateCreate(errors, { metadata, spec }) {
      const annotation = annotationOf(vocabulary);
      const given = metadata?.annotations?.[annotation];
      if (given !== undefined && spec?.ingressClassName !== undefined) {
        const detail = 'can not be set when the class field is also set';
        errors.invalid(`metadata.annotations[${annotation}]`, given, detail);
      }
    },
    warnings: ({ metadata }, old) => {
      const annotation = annotationOf(vocabulary);
      return old === undefined && metadata?.annotations?.[annotation] !== undefined
        ? [`annotation "${annotation}" is deprecated, please use 'spec.ingressClassName' instead`]
        : [];
    },
    row: (object, { nowMs }) => [
      object.metadata?.name ?? '',
      object.spec?.ingressClassName ?? NONE,
      hostsCell(object.spec?.rules ?? []),
      addressCell(object),
      (object.spec?.tls ?? []).length > 0 ? '80, 443' : '80',
      ageOf(object, nowMs),
    ],
  }),
  parts: { status: statusPart<Ingress>({ validate: validateStatus }) },
});
