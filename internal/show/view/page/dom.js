// dom: the elements of page.html, by the names that they have there. What page.html has is there when a module runs.

/**
 * @param {string} id
 * @returns {HTMLElement}
 */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * @param {string} id
 * @returns {HTMLCanvasElement}
 */
export const canvasById = (id) => /** @type {HTMLCanvasElement} */ (document.getElementById(id));

/**
 * @param {string} id
 * @returns {HTMLInputElement}
 */
export const inputById = (id) => /** @type {HTMLInputElement} */ (document.getElementById(id));

/**
 * context is what a canvas is drawn on with; every browser that runs the page has it.
 * @param {HTMLCanvasElement} canvas
 * @param {CanvasRenderingContext2DSettings} [settings]
 * @returns {CanvasRenderingContext2D}
 */
export const context = (canvas, settings) => /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", settings));
