/** The table of resources. Source: facts README, api-resources. */
import { createRequire } from 'node:module';

/** Content of the table; callers parse its shape. */
export function readResourceTable(): unknown {
  const requireData = createRequire(import.meta.url);
  return requireData('./data/api-resources.json');
}
