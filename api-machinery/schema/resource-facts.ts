/** The table of resources as it stands. Source: facts README, api-resources. */
import { createRequire } from 'node:module';

/** What the table holds; whoever reads it knows its shape. */
export function readResourceTable(): unknown {
  const requireData = createRequire(import.meta.url);
  return requireData('./data/api-resources.json');
}
