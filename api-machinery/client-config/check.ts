/** Validation of the chosen cluster and user of a client configuration. Pure. */
import type { FieldError, FieldErrorKind } from '../meta/field-error.ts';
import { checkExec } from './exec-spec.ts';
import type { ClusterEntry, DataOrFile, Named, UserEntry } from './model.ts';
import { checkAuthProvider } from './oidc-spec.ts';

const PROXY_SCHEMES = ['http:', 'https:', 'socks5:'];
// oxlint-disable-next-line no-control-regex -- exactly what no header may contain
const UNFIT_FOR_HEADER = /[\u0000-\u001f\u007f]/;

const isGiven = ({ data, file }: DataOrFile): boolean => data !== undefined || file !== undefined;

/** Returns the address as a URL. Without a scheme it is https if TLS settings exist, otherwise http, as
 *  upstream. */
export function readServer(cluster: ClusterEntry): URL | undefined {
  const { server, insecureSkipTlsVerify, authority, tlsServerName } = cluster;
  const isTls = insecureSkipTlsVerify || isGiven(authority) || tlsServerName !== '';
  const text = server.includes('://') ? server : `${isTls ? 'https' : 'http'}://${server}`;
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return undefined;
  return url.hostname === '' || url.search !== '' || url.hash !== '' || url.username !== '' ? undefined : url;
}

type Report = (kind: FieldErrorKind, name: string, detail: string, badValue?: string) => void;

function collect(path: string, check: (report: Report) => void): readonly FieldError[] {
  const errors: FieldError[] = [];
  check((kind, name, detail, badValue) => {
    errors.push({ kind, field: `${path}.${name}`, detail, ...(badValue === undefined ? {} : { badValue }) });
  });
  return errors;
}

export function checkCluster({ entry, path }: Named<ClusterEntry>): readonly FieldError[] {
  return collect(path, (report) => {
    const { server, proxyUrl } = entry;
    if (server === '') report('FieldValueRequired', 'server', 'the URL of the API server');
    else if (readServer(entry) === undefined) {
      // Not shown: it might contain credentials, which is one of the possible errors.
      const shown = server.includes('@') ? undefined : server;
      report('FieldValueInvalid', 'server', 'must be a URL such as https://api.example:6443', shown);
    }
    if (entry.insecureSkipTlsVerify && isGiven(entry.authority)) {
      const detail = 'must not be true together with a certificate-authority: remove one of them';
      report('FieldValueForbidden', 'insecure-skip-tls-verify', detail);
    }
    if (proxyUrl !== '' && !PROXY_SCHEMES.includes(URL.parse(proxyUrl)?.protocol ?? '')) {
      report('FieldValueInvalid', 'proxy-url', 'must be a URL with the scheme http, https or socks5');
    }
  });
}

function checkMethods(user: UserEntry, report: Report): void {
  const isBasic = user.username !== '' || user.password !== '';
  const isToken = user.token !== '' || user.tokenFile !== '';
  if (isToken && isBasic) {
    report(
      'FieldValueForbidden',
      'token',
      'must not be combined with username and password: remove one of them',
    );
  }
  if (user.password !== '' && user.username === '') {
    report('FieldValueRequired', 'username', 'needed for the password');
  }
  if (user.username.includes(':')) {
    report('FieldValueInvalid', 'username', 'must not contain ":" in basic authentication', user.username);
  }
  if (UNFIT_FOR_HEADER.test(user.token)) {
    report('FieldValueInvalid', 'token', 'must not contain line breaks or other control characters');
  }
  if (user.exec !== undefined && user.authProvider !== undefined) {
    report('FieldValueForbidden', 'exec', 'must not be combined with auth-provider: remove one of them');
  }
  if (isGiven(user.certificate) && !isGiven(user.key)) {
    report(
      'FieldValueRequired',
      'client-key',
      'needed for the client certificate; client-key-data is accepted as well',
    );
  }
  if (isGiven(user.key) && !isGiven(user.certificate)) {
    const detail = 'needed for the client key; client-certificate-data is accepted as well';
    report('FieldValueRequired', 'client-certificate', detail);
  }
}

function checkImpersonation({ impersonate }: UserEntry, report: Report): void {
  const { user, uid, groups, extra } = impersonate;
  const impersonates = uid !== '' || groups.length > 0 || Object.keys(extra).length > 0;
  if (impersonates && user === '')
    report('FieldValueRequired', 'as', 'as-uid, as-groups and as-user-extra need a user');
  const check = (name: string, value: string): void => {
    if (!UNFIT_FOR_HEADER.test(value)) return;
    report('FieldValueInvalid', name, 'must not contain control characters', value);
  };
  check('as', user);
  check('as-uid', uid);
  for (const [index, group] of groups.entries()) check(`as-groups[${index}]`, group);
  for (const [name, values] of Object.entries(extra)) {
    const isLower = name !== '' && name === name.toLowerCase();
    if (!isLower) report('FieldValueInvalid', 'as-user-extra', 'names must be in lower case', name);
    for (const [index, value] of values.entries()) check(`as-user-extra[${name}][${index}]`, value);
  }
}

export function checkUser({ entry, path }: Named<UserEntry>): readonly FieldError[] {
  const { exec, authProvider } = entry;
  return [
    ...collect(path, (report) => {
      checkMethods(entry, report);
      checkImpersonation(entry, report);
    }),
    ...(exec === undefined ? [] : checkExec(exec, `${path}.exec`)),
    ...(authProvider === undefined ? [] : checkAuthProvider(authProvider, `${path}.auth-provider`)),
  ];
}
