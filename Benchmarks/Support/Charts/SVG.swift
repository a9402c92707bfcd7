import Foundation

/// The text of a drawing, element by element; sizes are in pixels.
///
/// Colours suit a light and a dark page: everything drawn is of middle brightness, and there is no
/// background.
struct SVG {
  enum Anchor: String { case start, middle, end }

  /// Colours that everybody can distinguish, also when colour-blind (Okabe and Ito, 2008); the first is ours.
  static let colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"]
  static let line = "#8a8a8a"

  private var body = ""
  private let width: Int
  private let height: Int

  init(width: Int, height: Int) { (self.width, self.height) = (width, height) }

  var text: String {
    """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" width="\(width)" height="\(height)" \
    font-family="system-ui, sans-serif" font-size="12">
    \(body)</svg>

    """
  }

  mutating func line(
    _ from: (Double, Double), _ to: (Double, Double), _ colour: String, dashes: String? = nil
  ) {
    let pattern = dashes.map { " stroke-dasharray=\"\($0)\"" } ?? ""
    body +=
      "<line x1=\"\(number(from.0))\" y1=\"\(number(from.1))\" x2=\"\(number(to.0))\" y2=\"\(number(to.1))\" "
      + "stroke=\"\(colour)\"\(pattern)/>\n"
  }

  mutating func path(_ points: [(Double, Double)], _ colour: String) {
    let places = points.map { "\(number($0.0)),\(number($0.1))" }.joined(separator: " ")
    body += "<polyline points=\"\(places)\" fill=\"none\" stroke=\"\(colour)\" stroke-width=\"2\"/>\n"
    for point in points {
      body += "<circle cx=\"\(number(point.0))\" cy=\"\(number(point.1))\" r=\"3\" fill=\"\(colour)\"/>\n"
    }
  }

  mutating func bar(x: Double, y: Double, width: Double, height: Double, _ colour: String) {
    body +=
      "<rect x=\"\(number(x))\" y=\"\(number(y))\" width=\"\(number(max(width, 1)))\" height=\"\(number(height))\" "
      + "fill=\"\(colour)\"/>\n"
  }

  mutating func text(
    _ text: String, at place: (Double, Double), _ anchor: Anchor = .start, isTitle: Bool = false
  ) {
    let size = isTitle ? " font-size=\"15\" font-weight=\"600\"" : ""
    body +=
      "<text x=\"\(number(place.0))\" y=\"\(number(place.1))\" text-anchor=\"\(anchor.rawValue)\" "
      + "fill=\"#777\"\(size)>\(Self.escaped(text))</text>\n"
  }

  private static func escaped(_ text: String) -> String {
    text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
      .replacingOccurrences(of: ">", with: "&gt;")
  }

  private func number(_ value: Double) -> String { String(format: "%.1f", value) }
}
