/** Authorization step: builds the attributes of a request and upstream's message for a denial. */
import { StatusError } from '#api/meta/status-error.ts';
import { forbidden } from '#api/meta/status-errors.ts';
import type { AuthorizationAttributes, Decision } from '../../authz/contract.ts';
import type { UserInfo } from '../../resources/contract.ts';
import type { RequestInfo } from '../contract.ts';
import type { ServerRequest } from '../request/server-request.ts';

export type Authorize = (attributes: AuthorizationAttributes) => Decision | Promise<Decision>;

export interface AuthorizeDeps {
  readonly authorize: Authorize;
  /** Domain of the API groups in the server's vocabulary. */
  readonly domain: string;
}

/** @throws StatusError Forbidden, InternalError */
export async function authorize(deps: AuthorizeDeps, request: ServerRequest): Promise<void> {
  const attributes = attributesOf(request.info, request.user);
  const authorized = deps.authorize(attributes);
  const decision = authorized instanceof Promise ? await authorized : authorized;
  const allowed = decision.effect === 'allow';
  if (request.record !== undefined) {
    request.annotate(`authorization.${deps.domain}/decision`, allowed ? 'allow' : 'forbid');
    request.annotate(`authorization.${deps.domain}/reason`, decision.reason);
  }
  if (allowed) return;
  if (decision.error !== undefined) throw undecided(request, decision.error);
  throw refusalOf(attributes, decision.reason);
}

/** Nothing allowed the request, and something that might have could not be evaluated: 500, as upstream. */
function undecided({ exchange }: ServerRequest, error: string): StatusError {
  return new StatusError(
    'InternalError',
    `Internal Server Error: ${escapeHtml(quote(exchange.target))}: ${error}`,
  );
}

function attributesOf(info: RequestInfo, user: UserInfo): AuthorizationAttributes {
  return {
    user,
    verb: info.verb,
    isResource: info.isResource,
    group: info.group,
    version: info.version,
    resource: info.resource,
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.name,
    path: info.path,
  };
}

const HTML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
/** Escapes names, which come from clients and may end up in an HTML page. */
const escapeHtml = (text: string): string => text.replaceAll(/[&<>]/g, (found) => HTML[found] ?? found);
const quote = (text: string): string => JSON.stringify(text);

function sentence(attributes: AuthorizationAttributes): string {
  const start = `User ${quote(attributes.user.name)} cannot ${attributes.verb}`;
  if (!attributes.isResource) return `${start} path ${quote(attributes.path)}`;
  const { resource, subresource, namespace } = attributes;
  const what = subresource === '' ? resource : `${resource}/${subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${quote(namespace)}`;
  return `${start} resource ${quote(what)} in API group ${quote(attributes.group)} ${where}`;
}

/** Returns the Forbidden error of a request. */
export function refusalOf(attributes: AuthorizationAttributes, reason: string): StatusError {
  const escaped = escapeHtml(sentence(attributes));
  const text = reason === '' ? escaped : `${escaped}: ${reason}`;
  if (!attributes.isResource) return new StatusError('Forbidden', `forbidden: ${text}`);
  return forbidden({ group: attributes.group, name: attributes.resource }, attributes.name, text);
}
