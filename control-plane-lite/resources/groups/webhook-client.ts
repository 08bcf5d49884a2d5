/** Client configuration of a webhook: a URL, or a service of the cluster. Source: webhooks, document 2
 *  §2.6. */
import { dns1123SubdomainFaults, portNumberFaults } from '#api/meta/names.ts';
import type { Faults } from '#api/schema/validation/faults.ts';

interface ServiceRef {
  readonly namespace: string;
  readonly name: string;
  readonly path?: string;
  readonly port?: number;
}

interface ClientConfig {
  readonly url?: string;
  readonly service?: ServiceRef;
  readonly caBundle?: string;
}

function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** Validates a URL: HTTPS, without user, query and fragment. */
function validateUrl(faults: Faults, text: string, path: string): void {
  const form = 'desired format: https://host[/path]';
  const url = parseUrl(text);
  if (url === undefined) return faults.required(path, `url must be a valid URL; ${form}`);
  if (url.protocol !== 'https:')
    faults.invalid(path, text, `'https' is the only allowed URL scheme; ${form}`);
  if (url.host === '') faults.invalid(path, text, `host must be specified; ${form}`);
  if (url.username !== '' || url.password !== '') {
    faults.invalid(path, '', 'user information is not permitted in the URL');
  }
  if (url.hash !== '' || text.includes('#')) {
    faults.invalid(path, url.hash, 'fragments are not permitted in the URL');
  }
  if (url.search !== '' || text.includes('?')) {
    faults.invalid(path, url.search, 'query parameters are not permitted in the URL');
  }
  return undefined;
}

function validatePath(faults: Faults, text: string, path: string): void {
  if (text === '/' || text === '') return;
  if (!text.startsWith('/')) faults.invalid(path, text, "must start with a '/'");
  const steps = text.slice(1).split('/');
  if (steps.at(-1) === '') steps.pop();
  for (const [index, step] of steps.entries()) {
    if (step === '') faults.invalid(path, text, `segment[${index}] may not be empty`);
    else faults.invalidAll(path, text, dns1123SubdomainFaults(step));
  }
}

function validateService(faults: Faults, service: ServiceRef, path: string): void {
  if (service.name === '') faults.required(`${path}.name`, 'service name is required');
  if (service.namespace === '') faults.required(`${path}.namespace`, 'service namespace is required');
  if (service.path !== undefined) validatePath(faults, service.path, `${path}.path`);
  if (service.port !== undefined)
    faults.invalidAll(`${path}.port`, service.port, portNumberFaults(service.port));
}

/** Reports every error of the address of a webhook, which has exactly one. */
export function validateWebhookClient(faults: Faults, config: ClientConfig, path: string): void {
  const { url, service } = config;
  if ((url === undefined) === (service === undefined)) {
    faults.required(path, 'exactly one of url or service is required');
  } else if (url !== undefined) validateUrl(faults, url, `${path}.url`);
  else if (service !== undefined) validateService(faults, service, `${path}.service`);
}
