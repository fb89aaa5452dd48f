"""`streamlit run` executes this file for every browser and every move.

Worker processes execute it too, under another name: hence the guard.
"""

from app.dashboard.main import main

if __name__ == "__main__":
    main()
