import Testing
@Suite struct DunlinErrorTests {}
