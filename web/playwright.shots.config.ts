import base from "./playwright.config";

export default { ...base, testDir: "tests/shots", timeout: 180_000 };
