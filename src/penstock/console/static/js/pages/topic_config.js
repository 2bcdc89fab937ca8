// The configuration of a topic.

import { path } from "../api.js";
import { configTable } from "../config_table.js";

export function show(topic, signal) {
  return configTable(path`topics/${topic.name}/config`, `Configuration of ${topic.name}`, signal);
}
