import CRDTCore
import QueryEngine
import Testing

/// A mistyped word in every clause: the error says where, and what was probably meant.
@Suite struct ParserTypoTests {
  private static let typos: [(String, String, String)] = [
    ("SELCT * FROM c", "SELCT", "SELECT"), ("EXPLIAN SELECT * FROM c", "EXPLIAN", "EXPLAIN"),
    ("SELECT DISTINT make FROM c", "make", "DISTINCT"), ("SELECT make FORM c", "FORM", "FROM"),
    ("SELECT make SA m FROM c", "SA", "AS"), ("SELECT * FROM c WEHRE a = 1", "a =", "WHERE"),
    ("SELECT * FROM c x WEHRE a = 1", "WEHRE", "WHERE"), ("SELECT a FROM c GRUOP BY a", "BY", "GROUP"),
    ("SELECT a FROM c GROUP YB a", "YB", "BY"), ("SELECT a FROM c GROUP BY a HAVNG a > 1", "HAVNG", "HAVING"),
    ("SELECT a FROM c ODER BY a", "BY", "ORDER"), ("SELECT a FROM c WHERE a ODER BY a", "ODER", "ORDER"),
    ("SELECT a FROM c ORDER BY a DSC", "DSC", "DESC"), ("SELECT a FROM c LIMT 1", "1", "LIMIT"),
    ("SELECT a FROM c LIMIT 1 OFSET 2", "OFSET", "OFFSET"),
    ("SELECT * FROM a JION b ON b._id = a.b", "b ON", "JOIN"),
    ("SELECT * FROM a JOIN b ONN b._id = a.b", "b._id", "ON"),
    ("SELECT * FROM a LEFT OTER JOIN b ON b._id = a.b", "OTER", "OUTER"),
    ("SELECT * FROM c USE INDX 'i'", "INDX", "INDEX"), ("SELECT * FROM c USE IDS LSIT :a", "LSIT", "LIST"),
    ("SELECT a FROM c UNOIN SELECT a FROM d", "SELECT a FROM d", "UNION"),
    ("SELECT a FROM c WHERE a UNOIN SELECT a FROM d", "UNOIN", "UNION"),
    ("INSERT INOT c DOCUMENTS (:a)", "INOT", "INTO"),
    ("INSERT INTO c DOCUMENT (:a)", "DOCUMENT", "DOCUMENTS"),
    ("INSERT INTO c VALUE (:a)", "VALUE", "VALUES"),
    ("INSERT INTO c INITAL DOCUMENTS (:a)", "INITAL", "INITIAL"),
    ("INSERT INTO c DOCUMENTS (:a) ON ID CONFLCT DO FAIL", "CONFLCT", "CONFLICT"),
    ("INSERT INTO c DOCUMENTS (:a) ON ID CONFLICT DO NOTHIN", "NOTHIN", "NOTHING"),
    ("INSERT INTO c DOCUMENTS (:a) RETURNNG *", "RETURNNG", "RETURNING"),
    ("UPDATE c STE a = 1", "a = 1", "SET"), ("UPDATE c UNSTE a", "a", "UNSET"),
    ("UPDATE c APLY a INCREMENT BY 1", "a INC", "APPLY"),
    ("UPDATE c APPLY a INCREMNT BY 1", "INCREMNT", "INCREMENT"),
    ("UPDATE c APPLY a INCREMENT YB 1", "YB", "BY"),
    ("UPDATE c APPLY a RESTART WIHT 1", "WIHT", "WITH"), ("UPDATE c SET a = 1 WERE b", "WERE", "WHERE"),
    ("UPDATE c SET a -> tombston()", "tombston", "TOMBSTONE"),
    ("UPDATE COLLECTION c (n COUNTR) SET a = 1", "COUNTR", "COUNTER"),
    ("DELETE FORM c", "FORM", "FROM"), ("EVICT FROM c WERE a", "a", "WHERE"),
    ("DELETE FROM c WHERE a LIMT 1", "LIMT", "LIMIT"),
    ("CREATE INDX i ON c (a)", "INDX", "INDEX"), ("CREATE INDEX IF NOT EXIST i ON c (a)", "EXIST", "EXISTS"),
    ("CREATE INDEX i NO c (a)", "NO", "ON"), ("CREATE INDEX i ON c (a DSC)", "DSC", "DESC"),
    ("CREATE INDEX i ON c ((lowr(a)))", "lowr", "LOWER"), ("DROP INDX i ON c", "INDX", "INDEX"),
    ("ALTER SYTEM SET a = 1", "SYTEM", "SYSTEM"), ("ALTER SYSTEM STE a = 1", "STE", "SET"),
    ("ALTER SYSTEM REST a", "REST", "RESET"), ("SHOW ALL LIK 'a'", "LIK", "LIKE"),
    ("SELECT CASE a WEN 1 THEN 2 END FROM c", "WEN", "WHEN"),
    ("SELECT CASE WHEN a THN 2 END FROM c", "THN", "THEN"),
    ("SELECT CASE WHEN a THEN 2 ELES 1 END FROM c", "ELES", "ELSE"),
    ("SELECT CASE WHEN a THEN 2 EDN FROM c", "EDN", "END"),
    ("SELECT * FROM c WHERE a BETWEN 1 AND 2", "BETWEN", "BETWEEN"),
    ("SELECT * FROM c WHERE a LIK 'x'", "LIK", "LIKE"),
    ("SELECT * FROM c WHERE a SIMILR TO 'x'", "SIMILR", "SIMILAR"),
    ("SELECT * FROM c WHERE a SIMILAR OT 'x'", "OT", "TO"),
    ("SELECT * FROM c WHERE a LIKE 'x' ESCAP '!'", "ESCAP", "ESCAPE"),
    ("SELECT * FROM c WHERE a IS NUL", "NUL", "NULL"),
    ("SELECT * FROM c WHERE a IS NOT MISING", "MISING", "MISSING"),
    ("SELECT * FROM c WHERE a NAD b", "NAD", "AND"),
    ("SELECT * FROM c WHERE a BETWEEN 1 NAD 2", "NAD", "AND"),
    ("SELECT * FROM c WHERE ANY v IN a SATISFY v END", "SATISFY", "SATISFIES"),
    ("SELECT * FROM c WHERE ANY v WITHN a SATISFIES v END", "WITHN", "WITHIN"),
    ("SELECT ARRAY v FRO v IN a END FROM c", "FRO", "FOR"),
    ("SELECT ARRAY v FOR v IN a WEN v END FROM c", "WEN", "WHEN"),
    ("SELECT a COLATE nocase FROM c", "COLATE", "COLLATE"),
    ("SELECT a COLLATE nocas FROM c", "nocas", "nocase"),
    ("SELECT TRIM(LEDING 'x' FROM a) FROM c", "'x'", "LEADING"),
    ("SELECT date_ad(a, 'day', 1) FROM c", "date_ad", "date_add"),
    ("SELECT cast(a AS intger) FROM c", "intger", "integer"), ("SELECT CUONT(*) FROM c", "CUONT", "count"),
    ("SELECT * FROM system:colections", "system", "system:collections"),
  ]

  @Test(arguments: typos) func `a mistyped word is found, and the right one offered`(
    text: String, place: String, wanted: String
  ) throws {
    let error = try #require(throws: QueryError.self) {
      let statement = try DQL.parse(text)
      if case .select(let select) = statement { _ = try SystemCollection.named(select.collection) }
    }
    #expect(error.message.hasSuffix("did you mean '\(wanted)'?"), "\(error)")
    guard let position = error.position else {
      #expect(text.contains("system:"), "\(error)")
      return
    }
    let rest = String(decoding: text.utf8.dropFirst(position.offset), as: UTF8.self)
    #expect(rest.hasPrefix(place), "\(error)")
    #expect(error.found != nil)
    let lines = try #require(error.excerpt).split(separator: "\n")
    let caret = try #require(lines.last).dropLast()
    #expect(caret.allSatisfy { $0 == " " } && lines.last?.last == "^", "\(error)")
    #expect(rest.hasPrefix(lines[0].dropFirst(caret.count)), "\(error)")
  }
}
