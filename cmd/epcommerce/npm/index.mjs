export { startStore } from './index.js'
