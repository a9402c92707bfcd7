import Foundation
import TestKit
import Testing

/// Articles are written in plain words: short sentences, short paragraphs.
@Suite struct PlainWordsTests {
  /// The most words of a sentence, and of a paragraph.
  private static let limits = (sentence: 35, paragraph: 80)

  private static let articles = [
    "Architecture", "BigPeer", "ChangeFeed", "CommandLine", "Configuration", "Conflicts", "DebuggingSync",
    "Decisions",
    "DefaultData",
    "DrivingSync", "Erasing", "Eviction", "FileFormat", "Forms", "Functions", "GettingStarted", "Glossary",
    "Links", "LiveQueries", "Login", "Maintenance", "Merging", "Modelling", "Modules",
    "MovingFromDitto", "MovingFromOthers", "Observers", "Performance", "Queries", "QueryLanguage",
    "Reliability", "Revocation", "Rules", "Scaling",
    "Scopes", "Security", "Store", "Sync", "SyncPromises", "Syncing", "Testing", "Transactions", "Transports",
    "Values",
    "WireFormat", "Writing",
  ]

  @Test(arguments: articles)
  func `sentences and paragraphs are short`(_ name: String) throws {
    let page = try #require(Page(path: "Documentation/\(name).md"))
    for paragraph in Self.paragraphs(of: page) {
      let place = "\(page.path):\(paragraph.line)"
      let count = paragraph.words.count
      expect(count <= Self.limits.paragraph, "\(place): a paragraph of \(count) words")
      for sentence in Self.sentences(of: paragraph.words) {
        expect(sentence.count <= Self.limits.sentence, "\(place): \(sentence.joined(separator: " "))")
      }
    }
  }

  /// The paragraphs, items of lists and cells of tables, as words; code counts as one word.
  private static func paragraphs(of page: Page) -> [(line: Int, words: [Substring])] {
    var paragraphs: [(line: Int, words: [Substring])] = []
    var last = 0
    for (number, line) in page.prose {
      let text = line.trimmingCharacters(in: .whitespaces)
      let plain = text.replacing(/`[^`]*`/, with: "code").replacing(/\]\([^)]*\)/, with: "]")
      let beginsItem = text.starts(with: /([-*]|[0-9]+\.)\s/)
      if text.hasPrefix("|") {
        for cell in plain.split(separator: "|") { paragraphs.append((number, cell.split(separator: " "))) }
      } else if text.isEmpty || text.hasPrefix("#") {
        continue
      } else if last == number - 1, !beginsItem, !paragraphs.isEmpty {
        paragraphs[paragraphs.count - 1].words += plain.split(separator: " ")
      } else {
        paragraphs.append((number, plain.split(separator: " ")))
      }
      last = text.hasPrefix("|") ? 0 : number
    }
    return paragraphs
  }

  private static func sentences(of words: [Substring]) -> [[Substring]] {
    var sentences: [[Substring]] = [[]]
    for word in words {
      sentences[sentences.count - 1].append(word)
      if let end = word.last, ".!?:".contains(end) { sentences.append([]) }
    }
    return sentences.filter { !$0.isEmpty }
  }

  @Test func `a paragraph is divided into sentences, and a list into items`() {
    let text = "# No\nOne `x y` two. Three\nfour.\n\n- five\n  six\n- [seven](A.md)\n|a b|c|"
    let page = Page(path: "A.md", text: text)
    let paragraphs = Self.paragraphs(of: page)
    #expect(paragraphs.map(\.line) == [2, 5, 7, 8, 8])
    #expect(paragraphs.map(\.words.count) == [5, 3, 2, 2, 1])
    #expect(Self.sentences(of: paragraphs[0].words).map(\.count) == [3, 2])
  }
}
