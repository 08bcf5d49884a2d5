/** Headers for browsers, as configured. */
import type { ServerConfig } from '../config/settings.ts';
import { compilePattern } from '../custom/schema/pattern/compile.ts';
import type { BrowserPolicy } from '../http/pipeline/browser.ts';

/** `undefined`: none. */
export function browserPolicy({
  strictTransportSecurityDirectives: directives,
  corsAllowedOrigins: origins,
}: Pick<ServerConfig, 'strictTransportSecurityDirectives' | 'corsAllowedOrigins'>):
  | BrowserPolicy
  | undefined {
  if (directives.length === 0 && origins.length === 0) return undefined;
  const patterns = origins.map(compilePattern);
  return {
    transportSecurity: directives.join('; '),
    allowsOrigin: (origin) => patterns.some((pattern) => pattern.matches(origin) === true),
  };
}
