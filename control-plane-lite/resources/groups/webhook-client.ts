/** Client configuration of a webhook: a URL, or a service of the cluster. Source: webhooks, document 2
 *  §2.6. */
import { dns1123SubdomainErrors, portNumberErrors } from '#api/meta/names.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';

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
function validateUrl(errors: FieldErrors, text: string, path: string): void {
  const form = 'desired format: https://host[/path]';
  const url = parseUrl(text);
  if (url === undefined) return errors.required(path, `url must be a valid URL; ${form}`);
  if (url.protocol !== 'https:')
    errors.invalid(path, text, `'https' is the only allowed URL scheme; ${form}`);
  if (url.host === '') errors.invalid(path, text, `host must be specified; ${form}`);
  if (url.username !== '' || url.password !== '') {
    errors.invalid(path, '', 'user information is not permitted in the URL');
  }
  if (url.hash !== '' || text.includes('#')) {
    errors.invalid(path, url.hash, 'fragments are not permitted in the URL');
  }
  if (url.search !== '' || text.includes('?')) {
    errors.invalid(path, url.search, 'query parameters are not permitted in the URL');
  }
  return undefined;
}

function validatePath(errors: FieldErrors, text: string, path: string): void {
  if (text === '/' || text === '') return;
  if (!text.startsWith('/')) errors.invalid(path, text, "must start with a '/'");
  const steps = text.slice(1).split('/');
  if (steps.at(-1) === '') steps.pop();
  for (const [index, step] of steps.entries()) {
    if (step === '') errors.invalid(path, text, `segment[${index}] may not be empty`);
    else errors.invalidAll(path, text, dns1123SubdomainErrors(step));
  }
}

function validateService(errors: FieldErrors, service: ServiceRef, path: string): void {
  if (service.name === '') errors.required(`${path}.name`, 'service name is required');
  if (service.namespace === '') errors.required(`${path}.namespace`, 'service namespace is required');
  if (service.path !== undefined) validatePath(errors, service.path, `${path}.path`);
  if (service.port !== undefined)
    errors.invalidAll(`${path}.port`, service.port, portNumberErrors(service.port));
}

/** Reports every error of the address of a webhook, which has exactly one. */
export function validateWebhookClient(errors: FieldErrors, config: ClientConfig, path: string): void {
  const { url, service } = config;
  if ((url === undefined) === (service === undefined)) {
    errors.required(path, 'exactly one of url or service is required');
  } else if (url !== undefined) validateUrl(errors, url, `${path}.url`);
  else if (service !== undefined) validateService(errors, service, `${path}.service`);
}
