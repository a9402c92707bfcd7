import Foundation
import TestKit
import Testing

/// Links between pages.
@Suite struct PageLinkTests {
  /// The targets of the links in a line, without what stands in backticks.
  private static func targets(in line: String) -> [String] {
    let text = line.replacing(/`[^`]*`/, with: "")
    return text.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
  }

  @Test(arguments: Page.all)
  func `a link leads to a page and a heading that exist`(_ page: Page) throws {
    for (number, line) in page.prose {
      for target in Self.targets(in: line) where !target.contains("://") && !target.hasPrefix("mailto:") {
        let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let file = parts[0].isEmpty ? page.path : Self.path(of: String(parts[0]), from: page.path)
        let exists = FileManager.default.fileExists(atPath: Page.repository.appending(path: file).path)
        expect(exists, "\(page.path):\(number): there is no \(file)")
        guard exists, parts.count == 2, let other = Page(path: file) else { continue }
        let isThere = other.anchors.contains(String(parts[1]))
        expect(isThere, "\(page.path):\(number): \(file) has no heading '\(parts[1])'")
      }
    }
  }

  /// The path of a file from the repository's top, for a link that stands in the page at `page`.
  private static func path(of target: String, from page: String) -> String {
    var parts = page.split(separator: "/").dropLast().map(String.init)
    for part in target.split(separator: "/") {
      switch part {
      case ".": continue
      case "..": _ = parts.popLast()
      default: parts.append(String(part))
      }
    }
    return parts.joined(separator: "/")
  }

  @Test func `anchors are those of GitHub`() {
    let page = Page(
      path: "A.md", text: "# Save, upsert or update?\n## `save`\n## Again\n## Again\n```\n# no heading\n```")
    #expect(page.anchors == ["save-upsert-or-update", "save", "again", "again-1"])
    #expect(Self.targets(in: "[a](A.md#b) `[c](D.md)` [e](F.md)") == ["A.md#b", "F.md"])
    #expect(Self.path(of: "../README.md", from: "Documentation/A.md") == "README.md")
    #expect(Self.path(of: "B.md", from: "Documentation/A.md") == "Documentation/B.md")
  }
}
